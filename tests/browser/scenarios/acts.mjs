// Pause, resume, cancel, and begin again: each where it applies, and nowhere else.

import { expect } from '../support/expect.mjs';

export default async function ({ visitor, given }) {
    const anna = await visitor();
    await anna.goes(`/sessions/${given.session}`);
    const actions = anna.in('Actions');
    await anna.seesStatus('executing');
    await actions.seesNo('button', 'Resume');
    await actions.seesNo('button', 'Retry');

    await actions.presses('Pause');
    await anna.seesStatus('pausing after this iteration');
    await anna.picture('about to pause');
    await actions.presses('Resume');
    await anna.seesStatus('executing');

    await actions.seesNo('button', 'Cancel this session');
    await actions.opens('Cancel…');
    await anna.picture('asked whether to cancel');
    await actions.presses('Cancel this session');
    await anna.seesStatus('cancelled');
    await actions.seesNo('button', 'Pause');
    await anna.picture('cancelled');

    await actions.presses('Retry');
    await anna.page.waitForURL((url) => url.pathname !== `/sessions/${given.session}`);
    expect(anna.path().startsWith('/sessions/'), `${anna.path()} is a new session`);
    await anna.seesPage('Paint the fence.');
    await anna.seesStatus('executing');

    await anna.follows('Sessions');
    await anna.seesRow('Paint the fence.', 'cancelled');
    await anna.seesRow('Paint the fence.', 'executing');
}
