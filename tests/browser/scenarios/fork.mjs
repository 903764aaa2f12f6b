// Going on in another way from where a session once was.

import { expect } from '../support/expect.mjs';

export default async function ({ visitor, given }) {
    const anna = await visitor();
    await anna.goes(`/sessions/${given.session}`);
    await anna.seesStatus('completed, claimed');
    const actions = anna.in('Actions');
    await actions.opens('Fork…');
    await actions.types('From iteration', '1');
    await actions.chooses('Agent', 'second');
    await anna.picture('about to fork');
    await actions.presses('Fork');
    await anna.page.waitForURL((url) => url.pathname !== `/sessions/${given.session}`);
    expect(anna.path().startsWith('/sessions/'), `${anna.path()} is the fork`);
    await anna.seesPage('Count.');
    await anna.seesStatus('completed, claimed');
    await anna.in('Answer').sees('done by second');
    await anna.picture('the fork');
}
