// Keeps an open page fresh: it is told when something has changed, and then asks for its newest state. Without it every page is whole,
// only not live. What comes from agents is put in as text alone.
"use strict";
(() => {
  const watched = document.querySelector("[data-watch]");
  if (!watched) return;

  const LONGEST_LOG = 400000;
  let busy = false;
  let again = false;
  let stale = false;

  // The name by which the same element is found in the page's next state.
  const nameOf = (element) => element.id || [element.tagName, element.getAttribute("href"), element.name, element.value, element.textContent].join("|");
  const isChanged = (field) => (field.options ? Array.from(field.options).some((option, place) => option.selected !== (option.defaultSelected || (place === 0 && !field.querySelector("[selected]")))) : field.value !== field.defaultValue);
  const isBeingWrittenIn = (region) =>
    Array.from(region.querySelectorAll("input:not([type=hidden]), textarea, select")).some((field) => field === document.activeElement || isChanged(field));

  const renew = (region, fresh) => {
    const opened = Array.from(region.querySelectorAll("details[open]"), (details) => details.id);
    for (const id of opened) {
      const details = fresh.querySelector("#" + CSS.escape(id));
      if (details) details.open = true;
    }
    if (region.innerHTML === fresh.innerHTML || isBeingWrittenIn(region)) return;
    const focused = region.contains(document.activeElement) ? nameOf(document.activeElement) : null;
    const scrolled = Array.from(region.querySelectorAll("[tabindex]"), (part) => [nameOf(part), part.scrollTop, part.scrollLeft]);
    region.replaceChildren(...fresh.childNodes);
    for (const part of region.querySelectorAll("[tabindex]")) {
      const before = scrolled.find(([name]) => name === nameOf(part));
      if (before) [part.scrollTop, part.scrollLeft] = [before[1], before[2]];
    }
    if (focused === null) return;
    const same = Array.from(region.querySelectorAll("a, button, summary, [tabindex]")).find((element) => nameOf(element) === focused);
    if (same) same.focus({ preventScroll: true });
  };

  const renewLog = (page) => {
    const [section, fresh] = [document.getElementById("log-section"), page.getElementById("log-section")];
    if (!section || !fresh) return;
    const [old, now] = [section.querySelector("#log"), fresh.querySelector("#log")];
    if (!now || (old && old.dataset.iteration === now.dataset.iteration)) {
      if (now && now.dataset.grows === "true") follow();
      return;
    }
    section.replaceChildren(...fresh.childNodes);
    toEnd();
    follow();
  };

  const refresh = async () => {
    if (document.hidden) { stale = true; return; }
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { "x-live": "1" } });
      if (answer.redirected) { location.reload(); return; }
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const region of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(region.id);
        if (fresh) renew(region, fresh);
      }
      renewLog(page);
    } catch {
      // The daemon is away; the stream says when it is back.
    } finally {
      busy = false;
      if (again) { again = false; refresh(); }
    }
  };

  const log = () => document.getElementById("log");
  const toEnd = () => { const pre = log(); if (pre) pre.scrollTop = pre.scrollHeight; };

  let following = false;
  const follow = async () => {
    if (following) return;
    following = true;
    try {
      for (;;) {
        const pre = log();
        if (!pre) return;
        if (!document.hidden) {
          const answer = await fetch(pre.dataset.tail + "?iteration=" + pre.dataset.iteration + "&after=" + pre.dataset.end);
          if (!answer.ok || answer.redirected) return;
          const piece = await answer.json();
          if (pre === log() && piece) {
            const atEnd = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 40;
            if (piece.text) pre.append(piece.text);
            pre.dataset.end = piece.end;
            document.getElementById("log-size").textContent = piece.size;
            if (pre.textContent.length > LONGEST_LOG) pre.textContent = pre.textContent.slice(-LONGEST_LOG / 2);
            if (atEnd) toEnd();
            if (piece.text) continue;
            if (!piece.grows) return;
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    } catch {
      // As above: whoever comes back asks again.
    } finally {
      following = false;
    }
  };

  let opened = false;
  const stream = new EventSource(watched.dataset.watch);
  stream.addEventListener("change", refresh);
  stream.addEventListener("open", () => {
    document.documentElement.dataset.connected = "yes";
    // What happened between the page and the stream, or while it was away, is asked for once.
    refresh();
    opened = true;
    follow();
  });
  stream.addEventListener("error", () => { document.documentElement.dataset.connected = opened ? "lost" : "no"; });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !stale) return;
    stale = false;
    refresh();
  });
  toEnd();
})();
