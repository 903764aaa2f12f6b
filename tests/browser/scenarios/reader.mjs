// A token that may only read: everything is shown, and nothing that could be done.

import { expect, expectEqual } from '../support/expect.mjs';

export default async function ({ visitor, given }) {
    const anna = await visitor();
    await anna.goes(`/sessions/${given.session}`);
    await anna.types('Token', given.token);
    await anna.presses('Log in');
    await anna.in('Question').sees('Which pot of paint?');
    await anna.seesStatus('asks:');
    await anna.picture('a question that somebody else answers');
    const forms = anna.page.locator('main form[method=post]');
    for (const path of [`/sessions/${given.session}`, '/', '/schedules']) {
        await anna.goes(path);
        await anna.seesThe('main');
        expectEqual(await forms.count(), 0, `forms that ${path} offers`);
    }
    anna.manners.foresee(403);
    const answer = await anna.goes('/new');
    const isClosed = answer.status() === 403 || (await forms.count()) === 0;
    expect(isClosed, 'nothing can be submitted');
    await anna.picture('where nothing can be submitted');
}
