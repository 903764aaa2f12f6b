// What somebody is doing on a page survives that the page changes by itself: words half typed, the focus, what was opened, the place in
// a log.

import { expect, until } from '../support/expect.mjs';

/** Runs in the page: how far a log is from its end, in pixels. */
const fromEnd = (log) => log.scrollHeight - log.clientHeight - log.scrollTop;

/** Runs in the page: waits, frame by frame, until a log stands at its end. */
const isFollowed = (log) =>
    new Promise((done) => {
        const look = () => (log.scrollHeight - log.clientHeight - log.scrollTop < 40 ? done() : requestAnimationFrame(look));
        look();
    });

export default async function ({ visitor, given, allow, submit }) {
    const anna = await visitor();
    await anna.goes('/');
    await anna.seesRow('Count to a thousand.');
    await anna.field('Search').pressSequentially('half a wo');
    await anna.withoutReloading(async () => {
        await submit({ objective: 'Water the roses.', agent: 'quick' });
        await anna.seesRow('Water the roses.', 'completed, claimed');
        await anna.finds('Search', 'half a wo');
        expect(await anna.hasFocus(anna.field('Search')), 'the focus stays in the field');
        await anna.page.keyboard.type('rd');
        await anna.finds('Search', 'half a word');
    });

    await anna.goes(`/sessions/${given.session}`);
    await anna.seesInLog(1, 'number 300');
    // A log is followed at its end …
    const log = anna.log(1);
    expect((await log.evaluate(fromEnd)) < 40, 'a log opens at its end');
    await anna.withoutReloading(async () => {
        allow('more');
        await anna.seesInLog(1, 'number 600');
        await until('the log to be at its end', () => log.evaluate(isFollowed));
    });
    // … and not while somebody reads further up.
    await log.evaluate((log) => log.scrollTo(0, 10));
    await anna.opens('Cancel…');
    await anna.the('button', 'Cancel this session').focus();
    await anna.withoutReloading(async () => {
        allow('most');
        await anna.seesInLog(1, 'number 900');
        expect((await log.evaluate((log) => log.scrollTop)) < 100, 'the log stays where it is read');
        allow('next');
        await anna.seesInLog(2, 'once more');
        expect(await anna.the('button', 'Cancel this session').isVisible(), 'what was opened stays open');
        expect(await anna.hasFocus(anna.the('button', 'Cancel this session')), 'the focus stays on the button');
    });
    await anna.hits('Enter');
    await anna.seesStatus('cancelled');
}
