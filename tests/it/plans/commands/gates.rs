//! Steps that wait for a person: `approve`, `reject`, and answers by file.

use super::{PLAN, site};
use crate::support::{Daemon, Site, wait_for};
use std::fs;

#[test]
fn a_step_is_approved_or_rejected() {
    let daemon = Daemon::start(site(PLAN));
    daemon
        .ralphd(&["submit", "ask.md", "--autonomy", "3"])
        .done();
    let waiting = daemon.in_state("ask", "awaiting_human");
    let id = waiting.short_id();
    let shown = daemon.ralphd(&["show", id]).done();
    for line in [
        "May task 2 run (shell, critical)? Look at the clock",
        "echo noon",
        "ralphd approve",
        "ralphd reject",
    ] {
        assert!(shown.contains(line), "no {line}: {shown}");
    }
    let unclear = daemon.ralphd(&["answer", id, "yes, but quickly"]);
    assert_eq!(unclear.code, Some(1), "{unclear:?}");
    assert!(unclear.stderr.contains("ralphd approve"), "{unclear:?}");
    let rejected = daemon.ralphd(&["reject", id, "not at noon"]).done();
    assert!(rejected.contains("rejected; it is paused"), "{rejected}");
    let list = daemon.ralphd(&["list"]).done();
    assert!(list.contains("paused, rejected: not at noon"), "{list}");
    let shown = daemon.ralphd(&["show", id]).done();
    assert!(
        shown.contains("rejected: not at noon") && shown.contains("ralphd resume"),
        "{shown}"
    );
    let late = daemon.ralphd(&["approve", id]);
    assert_eq!(late.code, Some(1), "{late:?}");
    assert!(
        late.stderr.contains("cannot approve while paused"),
        "{late:?}"
    );
    daemon.ralphd(&["resume", id]).done();
    daemon.in_state("ask", "awaiting_human");
    assert_eq!(daemon.read("shell.ran"), "");
    daemon.ralphd(&["approve", id]).done();
    assert_eq!(daemon.ended("ask").ending(), ("completed", "completed"));
    assert_eq!(daemon.read("shell.ran"), "ran\n");
    let told = daemon.ralphd(&["watch", id]).done();
    for line in ["  task 2: rejected: not at noon\n", "  task 2: approved\n"] {
        assert!(told.contains(line), "no {line}: {told}");
    }
}

#[test]
fn a_gate_is_answered_by_words_and_by_files() {
    let daemon = Daemon::start(site(PLAN));
    let submitted = |name: &str| {
        fs::copy(daemon.file("ask.md"), daemon.file(&format!("{name}.md"))).unwrap();
        daemon
            .ralphd(&["submit", &format!("{name}.md"), "--autonomy", "3"])
            .done();
        daemon.in_state(name, "awaiting_human").id
    };
    let one = submitted("one");
    daemon.drop_file(
        "unclear.answer.md",
        &format!("session: {one}\nthe blue one\n"),
    );
    let refusal = wait_for("the refusal", || {
        let text = daemon.read("state/inbox/rejected/unclear.answer.md.error.txt");
        (!text.is_empty()).then_some(text)
    });
    assert!(refusal.contains("ralphd approve"), "{refusal}");
    daemon.drop_file(
        "no.answer.md",
        &format!("session: {one}\nreject\nnot today\n"),
    );
    let paused = daemon.in_state("one", "paused");
    assert!(
        paused
            .human_context
            .unwrap()
            .contains("\"rejected\":\"not today\"")
    );
    daemon.ralphd(&["resume", &one]).done();
    daemon.in_state("one", "awaiting_human");
    daemon.drop_file(
        "yes.answer.json",
        &format!(r#"{{"session": "{one}", "answer": "approve"}}"#),
    );
    assert_eq!(daemon.ended("one").status, "completed");
    let two = submitted("two");
    daemon.ralphd(&["answer", &two, "1"]).done();
    assert_eq!(daemon.ended("two").status, "completed");
}

#[test]
fn an_approval_that_nobody_asked_for_is_refused() {
    let asks = "mkdir -p state; echo '{\"question\": \"Which?\"}' >state/question.json; echo hm";
    let site = Site::with_worker(asks);
    let asked = site.ralphd(&["run", "Go."]);
    assert_eq!(asked.code, Some(3), "{asked:?}");
    let id = site.session("go").unwrap().id;
    for verb in [&["approve", &id][..], &["reject", &id, "no"]] {
        let ran = site.ralphd(verb);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stderr.contains("while waiting for an answer"),
            "{ran:?}"
        );
    }
}
