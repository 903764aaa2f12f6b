// Without script: everything is shown, and forms work. What changes is seen when the page is loaded again.

import { expect } from '../support/expect.mjs';

export default async function ({ visitor, allow, given }) {
    const anna = await visitor({ script: false });
    await anna.goes('/new');
    await anna.types('Objective', 'Paint the fence.');
    await anna.chooses('Agent', 'painter');
    await anna.types('Verify', 'test -e painted');
    await anna.presses('Submit');
    await anna.seesPage('Paint the fence.');
    await anna.reloadsUntil('the log', () => anna.log(1).filter({ hasText: 'first coat' }).count());
    allow('more');
    allow('ask');
    await anna.reloadsUntil('the question', () => anna.isStatus('asks: Which pot of paint?'));
    await anna.picture('asking, without script');
    await anna.in('Question').presses('the blue one');
    await anna.seesPage('Paint the fence.');
    allow('dry');
    await anna.reloadsUntil('the end', () => anna.isStatus('completed, verified'));
    for (const section of ['Answer', 'Objective', 'Budget', 'Iterations', 'Log', 'Handoff']) {
        await anna.seesThe('heading', section);
    }
    await anna.picture('completed, without script');

    await anna.goes('/');
    await anna.types('Search', 'fence');
    await anna.presses('Filter');
    await anna.seesRow('Paint the fence.', 'completed, verified');
    await anna.seesNoRow('Wait for it.');

    await anna.goes(`/sessions/${given.session}`);
    await anna.opens('Cancel…');
    await anna.presses('Cancel this session');
    await anna.reloadsUntil('the cancellation', () => anna.isStatus('cancelled'));

    for (const [path, heading] of [['/schedules', 'Schedules'], ['/agents', 'Agents'], ['/costs', 'Costs']]) {
        await anna.goes(path);
        await anna.seesPage(heading);
        expect((await anna.page.getByRole('table').count()) > 0, `${path} has its table`);
    }
}
