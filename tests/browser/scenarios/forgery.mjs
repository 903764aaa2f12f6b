// Somebody else's page in a browser that is logged in: whatever it posts is refused, and nothing comes of it.

import { createServer } from 'node:http';
import { expect, expectEqual } from '../support/expect.mjs';

/** A page that posts a form elsewhere as soon as it is open. */
const bait = (action, fields) => `<!doctype html><title>A prize</title>
<form method="post" action="${action}">${fields.map(([name, value]) => `<input name="${name}" value="${value}">`).join('')}</form>
<script>document.forms[0].submit()</script>`;

/** The forms of a page: where they lead, and what they send unseen. */
const formsOf = (somebody) =>
    somebody.page.locator('main form[method=post]').evaluateAll((all) =>
        all.map((form) => {
            const hidden = [...form.querySelectorAll('input[type=hidden]')];
            return { action: form.action, hidden: hidden.map((input) => [input.name, input.value]) };
        }),
    );

export default async function ({ visitor, given, base }) {
    const anna = await visitor();
    await anna.goes('/login');
    await anna.types('Token', given.token);
    await anna.presses('Log in');
    await anna.seesPage('Sessions');

    const session = `/sessions/${given.session}`;
    await anna.goes(session);
    const forms = await formsOf(anna);
    expect(forms.length > 0, 'a running session has forms');
    const cancel = forms.find(({ action }) => action.includes('cancel')) ?? forms[0];
    expect(cancel.hidden.length > 0, 'every form sends something that only its own page knows');

    anna.manners.foresee(401, 403);
    const refused = async (what, answer) => {
        expect([401, 403].includes(answer.status()), `${what} is refused: ${answer.status()}`);
        await anna.goes(session);
        await anna.seesStatus('executing');
    };

    // From the right place, but without the field, or with a wrong one.
    const headers = { origin: base };
    const post = (form) => anna.context.request.post(cancel.action, { form, headers, maxRedirects: 0 });
    await refused('a form without the field', await post({}));
    await refused('a wrong field', await post(Object.fromEntries(cancel.hidden.map(([name]) => [name, 'x']))));
    // The field of somebody else's log in.
    const bert = await visitor();
    await bert.goes('/login');
    await bert.types('Token', given.token);
    await bert.presses('Log in');
    await bert.goes(session);
    const his = (await formsOf(bert)).find(({ action }) => action === cancel.action);
    expect(JSON.stringify(his.hidden) !== JSON.stringify(cancel.hidden), 'each log in has a field of its own');
    await refused("another's field", await post(Object.fromEntries(his.hidden)));

    // From another page: of the same host, for which cookies are the same, and of another one. It even knows the field.
    const stranger = createServer((_, answer) => {
        answer.setHeader('content-type', 'text/html').end(bait(cancel.action, cancel.hidden));
    });
    await new Promise((ready) => stranger.listen(0, '127.0.0.1', ready));
    const { port } = stranger.address();
    for (const host of ['127.0.0.1', 'localhost']) {
        const origin = `http://${host}:${port}`;
        anna.manners.foresee(origin);
        const answered = anna.page.waitForResponse((response) => response.request().method() === 'POST');
        // The page leaves itself before it is there.
        await anna.page.goto(origin).catch(() => {});
        const answer = await answered;
        const isSentToLogIn = answer.status() === 303 && answer.headers().location.startsWith('/login');
        expect(isSentToLogIn || [401, 403].includes(answer.status()), `${origin} is refused: ${answer.status()}`);
        await anna.goes(session);
        await anna.seesStatus('executing');
    }
    stranger.close();

    // The same act by the person itself.
    await anna.opens('Cancel…');
    await anna.presses('Cancel this session');
    await anna.seesStatus('cancelled');
    expectEqual(anna.path(), session, 'where one is afterwards');
}
