// What was spent, as a chart with words and as a table; and which agents rest until when.

import { expect, until } from '../support/expect.mjs';

export default async function ({ visitor }) {
    const anna = await visitor();
    await anna.goes('/');
    await anna.follows('Costs');
    await anna.seesPage('Costs');
    const chart = anna.page.getByRole('img').first();
    await until('the chart', () => chart.waitFor());
    expect(await chart.evaluate((element) => element.localName === 'svg'), 'the chart is an SVG');
    const [name, box] = [await chart.getAttribute('aria-label'), await chart.boundingBox()];
    const title = await chart.evaluate((svg) => svg.querySelector('title')?.textContent);
    expect((name ?? title)?.length > 5, 'the chart has a name');
    expect(box.width > 200 && box.height > 50, `the chart is to be seen: ${JSON.stringify(box)}`);
    // Two sessions of three iterations, 0.25 each.
    await anna.opens('The same as a table');
    await anna.seesRow('1.50');
    await anna.picture('costs');

    await anna.follows('Agents');
    await anna.seesPage('Agents');
    await anna.seesRow('limited', 'parked until');
    await anna.seesRow('first');
    await anna.picture('agents');
}
