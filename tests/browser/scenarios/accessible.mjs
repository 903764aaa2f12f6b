// axe-core, on every page by day and by night, on a desk and on a phone: nothing serious or critical.

import { expect } from '../support/expect.mjs';

const BAD = ['serious', 'critical'];

/** A finding on some lines: what, where. */
function told({ id, impact, help, nodes }) {
    const place = (node) => `\n      ${node.html.slice(0, 160)}\n        ${node.failureSummary?.replaceAll('\n', ' ')}`;
    const places = nodes.slice(0, 5).map(place);
    return `${impact}: ${id}, ${help}${places.join('')}`;
}

export default async function ({ visitor, given, axe }) {
    const bad = [];
    for (const look of [{}, { dark: true }, { phone: true }]) {
        const anna = await visitor(look);
        for (const path of given.pages.split(',')) {
            await anna.goes(path);
            await anna.seesThe('main');
            // What is folded away is read, too.
            await anna.page.locator('details').evaluateAll((all) => all.forEach((details) => (details.open = true)));
            await anna.page.evaluate(axe.source);
            const { violations } = await anna.page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
            for (const found of violations) {
                const line = `${path} ${JSON.stringify(look)}: ${told(found)}`;
                if (BAD.includes(found.impact)) bad.push(line);
                else console.log(line);
            }
        }
    }
    expect(bad.length === 0, `no serious violation:\n${bad.join('\n')}`);
}
