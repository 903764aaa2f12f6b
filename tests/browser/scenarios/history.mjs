// What a session did: its iterations, what each changed, its tool calls, its handoff, and the older parts of a long log.

import { expect } from '../support/expect.mjs';

export default async function ({ visitor, given }) {
    const anna = await visitor();
    await anna.goes(`/sessions/${given.session}`);
    await anna.seesStatus('completed, verified');
    await anna.in('Iterations').seesRow('1', 'unfinished', '0.25');
    await anna.in('Iterations').seesRow('3', 'promised');
    await anna.in('Handoff').sees('after 3');
    await anna.in('Budget').seesThe('meter');
    await anna.picture('a session of three iterations');
    await anna.in('Iterations').inRow('unfinished', 'run 1').follows('Changes');
    await anna.page.waitForURL(/\/changes\?iteration=1$/);
    await anna.sees('run1.txt');
    await anna.sees('+by first');
    await anna.picture('what the first iteration changed');

    await anna.goes(`/sessions/${given.tools}`);
    await anna.in('Tool calls').sees('Bash');
    await anna.picture('a session with tool calls');

    await anna.goes(`/sessions/${given.long}`);
    await anna.seesInLog(1, 'line 20000 ');
    await anna.in('Log').the('link', /older|earlier/i).click();
    await anna.page.waitForURL(/\/log\?/);
    const first = anna.page.getByText('line 1 ', { exact: false });
    for (let page = 0; (await first.count()) === 0; page++) {
        expect(page < 100, 'the first line is on a page');
        const here = anna.path();
        await anna.page.getByRole('link', { name: /older|earlier/i }).first().click();
        await anna.page.waitForURL((url) => url.pathname + url.search !== here);
    }
    await anna.picture('the beginning of a long log', anna.page, {});
}
