// A planned session: its plan as a graph with words for those who do not see it, as a table, and both change as the work goes on.

import { expect, until } from '../support/expect.mjs';

export default async function ({ visitor, given, allow }) {
    const anna = await visitor();
    await anna.goes(`/sessions/${given.session}`);
    const plan = anna.in('Plan');
    const graph = plan.the('img');
    await until('the graph', () => graph.waitFor());
    expect(await graph.evaluate((element) => element.localName === 'svg'), 'the graph is an SVG');
    await anna.seesStatus('1 of 4 tasks done');
    await plan.seesRow('Collect the colours', 'completed');
    await plan.seesRow('Paint the front', 'running');
    await plan.seesRow('Paint the back', 'running');
    await plan.seesRow('Hang the picture', 'waiting');
    await anna.picture('a plan at work');
    const told = await graph.getAttribute('aria-label');
    expect(/Collect the colours.*Hang the picture/s.test(told), `the graph is told in words: ${told}`);

    await anna.withoutReloading(async () => {
        allow('front');
        await plan.seesRow('Paint the front', 'completed');
        await anna.seesStatus('2 of 4 tasks done');
        allow('back');
        await anna.seesStatus('completed');
        await plan.seesRow('Hang the picture', 'completed');
    });
    await anna.in('Answer').sees('The answer of house.');
    await anna.picture('a plan that is done');
    const box = await graph.boundingBox();
    expect(box.width > 100 && box.height > 40, `the graph has room: ${JSON.stringify(box)}`);
}
