// Where tokens are needed: a wrong one, the right one, where one wanted to go, and out again.

import { expect, expectEqual } from '../support/expect.mjs';

export default async function ({ visitor, given, base }) {
    const wanted = `/sessions/${given.session}`;
    const anna = await visitor();
    await anna.goes(wanted);
    await anna.seesPage('Log in');
    expect(anna.path().startsWith('/login?next='), `${anna.path()} leads to the log in`);
    expectEqual(await anna.field('Token').getAttribute('type'), 'password', 'what is typed is not shown');
    await anna.picture('log in');

    anna.manners.foresee(401);
    await anna.types('Token', `${given.token}x`);
    await anna.presses('Log in');
    await anna.page.getByRole('alert').waitFor();
    await anna.seesPage('Log in');
    const page = await anna.page.content();
    expect(!page.includes(given.token), 'a token is not shown again');
    await anna.picture('a wrong token');

    await anna.types('Token', given.token);
    await anna.presses('Log in');
    await anna.isAt(wanted);
    await anna.seesPage('Paint the fence.');
    await anna.seesThe('button', 'Log out');
    await anna.picture('logged in');
    const cookies = await anna.context.cookies();
    expect(cookies.length > 0, 'there is a cookie');
    for (const cookie of cookies) {
        expect(cookie.httpOnly && ['Strict', 'Lax'].includes(cookie.sameSite), `${cookie.name} is out of reach: ${JSON.stringify(cookie)}`);
    }
    expectEqual(await anna.page.evaluate(() => document.cookie), '', 'what scripts see of cookies');

    // An act needs the log in as well, and the live view works with it.
    await anna.follows('New request');
    await anna.types('Objective', 'Water the roses.');
    await anna.presses('Submit');
    await anna.seesPage('Water the roses.');
    await anna.seesStatus('completed, claimed');

    await anna.presses('Log out');
    await anna.seesPage('Log in');
    for (const path of ['/', '/new', '/schedules', '/agents', '/costs', wanted]) {
        await anna.goes(path);
        await anna.seesPage('Log in');
    }
    await anna.page.goBack();
    await anna.page.reload();
    await anna.seesPage('Log in');
    await anna.seesNo('button', 'Log out');

    // Nobody is led elsewhere by a link to the log in.
    for (const next of ['https://evil.example/', '//evil.example/', '/\\evil.example/', 'javascript:alert(1)']) {
        const bert = await visitor();
        await bert.goes(`/login?next=${encodeURIComponent(next)}`);
        await bert.types('Token', given.token);
        await bert.presses('Log in');
        await bert.seesThe('button', 'Log out');
        expectEqual(new URL(bert.page.url()).origin, new URL(base).origin, `where ${next} leads`);
        await bert.context.close();
    }
}
