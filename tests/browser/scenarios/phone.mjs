// On a phone: nothing is wider than the screen, and everything can be reached and tapped.

import { expect } from '../support/expect.mjs';

const WIDTH = 390;
/** What WCAG 2.2 asks for at least, of what does not stand within a text. */
const SMALLEST_TARGET = 24;

/** Runs in the page: the things that stick out of it, though nothing around them can be scrolled. */
function stickingOut() {
    const scrolls = (element) =>
        element && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    const wide = [...document.body.querySelectorAll('*')].filter((element) => {
        const box = element.getBoundingClientRect();
        return box.width > 0 && box.right > document.documentElement.clientWidth + 1 && !scrolls(element.parentElement);
    });
    return wide.slice(0, 5).map((element) => `${element.localName} «${element.textContent.trim().slice(0, 30)}»`);
}

export default async function ({ visitor, given }) {
    const anna = await visitor({ phone: true });
    for (const path of given.pages.split(',')) {
        await anna.goes(path);
        await anna.seesThe('main');
        const [inner, outer] = await anna.page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
        const culprits = await anna.page.evaluate(stickingOut);
        const isFitting = inner <= WIDTH && outer === WIDTH;
        expect(isFitting, `${path} is not wider than a phone (${inner} of ${outer}): ${culprits.join(', ')}`);
        await anna.picture(`${path} on a phone`);
        for (const role of ['link', 'button', 'textbox', 'combobox']) {
            for (const thing of await anna.page.getByRole(role).filter({ visible: true }).all()) {
                const name = (await thing.innerText()).trim() || (await thing.getAttribute('name'));
                // The skip link comes in when it has the focus.
                if (name === 'Skip to content') continue;
                await thing.scrollIntoViewIfNeeded();
                const box = await thing.boundingBox();
                const told = `${path}: the ${role} «${name}», at ${JSON.stringify(box)}`;
                expect(box.x > -1 && box.x + box.width <= WIDTH + 1, `${told}, can be reached`);
                expect(role === 'link' || box.height >= SMALLEST_TARGET, `${told}, can be tapped`);
            }
        }
    }
    // And what it is for: an answer from the sofa.
    await anna.goes('/');
    await anna.in('Waiting for you').the('button', 'the blue one').tap();
    await anna.in('Waiting for you').seesNo('button', 'the blue one');
}
