// The list: what comes in appears by itself; it is searched, filtered and paged.

import { expect } from '../support/expect.mjs';

export default async function ({ visitor, submit }) {
    const anna = await visitor();
    await anna.goes('/');
    await anna.seesRow('Wait number 120.');
    await anna.picture('the first page of many');
    await anna.withoutReloading(async () => {
        await submit({ objective: 'Water the roses.' });
        await anna.seesRow('Water the roses.', 'completed, claimed');
    });

    await anna.follows('Older');
    await anna.seesNoRow('Water the roses.');
    await anna.seesNoRow('Wait number 120.');
    const oldest = anna.the('link', 'Wait number 1.');
    for (let page = 2; (await oldest.count()) === 0; page++) {
        expect(page < 20, 'the oldest is on a page');
        const here = anna.path();
        await anna.follows('Older');
        await anna.page.waitForURL((url) => url.pathname + url.search !== here);
        await anna.seesThe('table', 'Sessions');
    }
    await anna.seesNo('link', 'Older');

    await anna.goes('/');
    const search = anna.page.getByRole('search');
    await search.getByRole('searchbox', { name: 'Search' }).fill('roses');
    await anna.presses('Filter');
    await anna.seesRow('Water the roses.');
    await anna.seesNoRow('Wait number');
    await anna.finds('Search', 'roses');
    await anna.picture('searched');

    await anna.goes('/');
    await anna.chooses('Status', 'completed');
    await anna.chooses('Agent', 'worker');
    await anna.chooses('Trigger', 'api');
    await anna.presses('Filter');
    await anna.seesRow('Water the roses.');
    await anna.seesNoRow('Wait number');
    await anna.withoutReloading(async () => {
        // A filter holds for what comes in, too.
        await submit({ objective: 'Wait, too.', not_before: '2099-01-01T00:00:00Z' });
        await submit({ objective: 'Mow the lawn.' });
        await anna.seesRow('Mow the lawn.');
        await anna.seesNoRow('Wait, too.');
    });
    await anna.types('Search', 'nobody says this');
    await anna.presses('Filter');
    await anna.seesNoRow('Water the roses.');
    await anna.picture('nothing found');
}
