// By the keyboard alone: past the navigation, through the filter, into a session, to an action.

import { expect } from '../support/expect.mjs';

export default async function ({ visitor }) {
    const anna = await visitor();
    await anna.goes('/');
    await anna.seesRow('Paint the fence.');
    await anna.hits('Tab');
    expect(await anna.hasFocus(anna.the('link', 'Skip to content')), 'the first stop is the skip link');
    await anna.picture('the skip link', anna.page, {});
    await anna.hits('Enter');
    await anna.hits('Tab');
    const isInside = await anna.page.evaluate(() => document.querySelector('main').contains(document.activeElement));
    expect(isInside, 'the skip link leads into the content');

    await anna.goes('/');
    await anna.tabsTo('Search', anna.field('Search'));
    await anna.page.keyboard.type('fence');
    await anna.tabsToThe('combobox', 'Status');
    // The letters of an option choose it.
    await anna.page.keyboard.type('executing');
    await anna.tabsToThe('button', 'Filter');
    await anna.hits('Enter');
    await anna.seesNoRow('Water the roses.');
    await anna.tabsToThe('link', 'Paint the fence.');
    await anna.picture('the focus on a session', anna.page, {});
    await anna.hits('Enter');
    await anna.seesPage('Paint the fence.');

    await anna.tabsTo('Log', anna.log(1));
    await anna.tabsBackToThe('button', 'Pause');
    await anna.hits('Enter');
    await anna.seesStatus('pausing after this iteration');

    const cancel = anna.summary('Cancel…');
    await anna.tabsTo('Cancel…', cancel);
    await anna.hits('Enter');
    await anna.tabsToThe('button', 'Cancel this session');
    await anna.hits('Enter');
    await anna.seesStatus('cancelled');
}
