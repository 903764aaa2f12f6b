// A request from the form to its answer: watched live, asked a question, answered by a click.

import { expect } from '../support/expect.mjs';

export default async function ({ visitor, allow }) {
    const anna = await visitor();
    await anna.goes('/');
    await anna.seesPage('Sessions');
    await anna.picture('no session yet');

    await anna.follows('New request');
    await anna.seesPage('New request');
    await anna.types('Objective', 'Paint the fence.\nAll of it, and both sides.');
    await anna.chooses('Agent', 'painter');
    await anna.types('Verify', 'test -e painted');
    await anna.types('Max iterations', '5');
    await anna.picture('a request, before it is submitted');
    await anna.presses('Submit');

    await anna.seesPage('Paint the fence.');
    expect(/^\/sessions\/[0-9a-f-]{36}$/.test(anna.path()), `${anna.path()} is the place of a session`);
    await anna.withoutReloading(async () => {
        await anna.seesStatus('executing');
        await anna.seesInLog(1, 'first coat');
        await anna.picture('at work');
        allow('more');
        await anna.seesInLog(1, 'second coat');
        await anna.in('Log').sees('Iteration 1, 23 B');
        allow('ask');
        await anna.seesStatus('asks: Which pot of paint?');
        await anna.in('Question').sees('Which pot of paint?');
    });
    await anna.in('Question').seesThe('button', 'the red one');
    await anna.picture('asking');

    await anna.in('Question').presses('the blue one');
    await anna.seesPage('Paint the fence.');
    await anna.withoutReloading(async () => {
        await anna.seesStatus('executing');
        await anna.seesInLog(2, 'painting it blue');
        await anna.seesNo('heading', 'Question');
        allow('dry');
        await anna.seesStatus('completed, verified');
        await anna.in('Answer').sees('The fence is blue.');
    });
    await anna.in('Iterations').seesRow('1');
    await anna.in('Iterations').seesRow('2', 'promised');
    await anna.picture('completed');

    await anna.follows('Sessions');
    await anna.seesRow('Paint the fence.', 'completed, verified');
    await anna.picture('the list with it');
}
