// An agent that says what would harm a page: it is shown as text, nothing of it runs, and the page stays alive.

import { expect, expectEqual } from '../support/expect.mjs';

/** As a page of a session may be at most, whatever was said. */
const LARGEST_PAGE_BYTES = 1_000_000;
/** How long a living page may take to draw; generous, because the machine may be slow. */
const LONGEST_FRAME_MS = 5_000;
const TURNS_THE_DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** Runs in the page: what an attack would have left, and what it would have been made of. */
function traces() {
    const main = document.querySelector('main');
    const all = [...main.querySelectorAll('*')];
    const isForeign = (element) => element.matches('script, img, iframe, object, embed, link, style, base');
    const handles = (element) => [...element.attributes].some(({ name }) => name.startsWith('on'));
    const told = (elements) => elements.map((element) => element.outerHTML.slice(0, 80));
    return {
        pwned: typeof window.pwned,
        markup: told(all.filter(isForeign)),
        handlers: told(all.filter(handles)),
        text: main.textContent,
    };
}

export default async function ({ visitor, given }) {
    const anna = await visitor();
    for (const path of given.pages.split(',')) {
        const answer = await anna.goes(path);
        await anna.seesThe('main');
        const size = (await answer.body()).length;
        expect(size < LARGEST_PAGE_BYTES, `${path} has ${size} bytes`);
        const began = Date.now();
        await anna.page.evaluate(() => new Promise(requestAnimationFrame));
        const took = Date.now() - began;
        expect(took < LONGEST_FRAME_MS, `${path} draws within ${took} ms`);
        const { pwned, markup, handlers, text } = await anna.page.evaluate(traces);
        expectEqual(pwned, 'undefined', `what ran on ${path}`);
        expectEqual(markup, [], `foreign elements of ${path}`);
        expectEqual(handlers, [], `handlers of ${path}`);
        expect(!text.includes('\u001b'), `no escape codes on ${path}`);
        expect(!TURNS_THE_DIRECTION.test(text), `nothing turns the reading direction on ${path}`);
        const wide = await anna.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(wide <= 0, `${path} is ${wide} pixels too wide`);
        await anna.picture(`${path} with hostile words`, anna.page, {});
    }

    await anna.goes(`/sessions/${given.session}`);
    await anna.seesInLog(1, '<script>window.pwned = 1</script>');
    await anna.seesInLog(1, '<img src=x onerror="window.pwned = 2">');
    await anna.seesInLog(1, '␛[31mred');
    await anna.seesInLog(1, 'the end of a long line');
    await anna.in('Question').sees('<b>bold</b>');
    // It still does what it is asked to.
    await anna.in('Question').presses('<i>one</i>');
    await anna.seesStatus('completed');
    await anna.in('Answer').sees('<script>window.pwned = 3</script>');
    expectEqual((await anna.page.evaluate(traces)).pwned, 'undefined', 'what ran at last');
}
