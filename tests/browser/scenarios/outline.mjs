// What all pages have in common, as a screen reader goes through them: language, title, landmarks, one heading, names for everything.

import { expect, expectEqual } from '../support/expect.mjs';

const LINKS = [
    ['Sessions', '/'],
    ['New request', '/new'],
    ['Schedules', '/schedules'],
    ['Agents', '/agents'],
    ['Costs', '/costs'],
];

/** Runs in the page: headings in their order, as levels. */
const levels = () => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((heading) => Number(heading.localName[1]));

export default async function ({ visitor, given }) {
    const anna = await visitor();
    for (const path of given.pages.split(',')) {
        await anna.goes(path);
        await anna.seesThe('main');
        expectEqual(await anna.page.locator('html').getAttribute('lang'), 'en', `the language of ${path}`);
        expect(/.+ · ralphd$/.test(await anna.page.title()), `${path} has a title: ${await anna.page.title()}`);
        expectEqual(await anna.page.getByRole('main').getAttribute('id'), 'content', `where the skip link of ${path} leads`);
        expectEqual(await anna.page.getByRole('heading', { level: 1 }).count(), 1, `first headings of ${path}`);
        const outline = await anna.page.evaluate(levels);
        const jumps = outline.filter((level, index) => level > (outline[index - 1] ?? 0) + 1);
        expectEqual(jumps, [], `${path} leaves out no level of headings (${outline})`);
        const navigation = anna.page.getByRole('navigation', { name: 'Main' });
        for (const [name, target] of LINKS) {
            expectEqual(await navigation.getByRole('link', { name, exact: true }).getAttribute('href'), target, `${name} on ${path}`);
        }
    }
    for (const [, path] of LINKS) {
        await anna.goes(path);
        const current = anna.page.getByRole('navigation', { name: 'Main' }).locator('[aria-current=page]');
        expectEqual(await current.count(), 1, `${path} says where one is`);
    }
}
