// Plays one scenario of the dashboard in headless Chromium:
//     node tests/browser/run.mjs SCENARIO BASE-URL DIRECTORY-FOR-SCREENSHOTS [NAME=VALUE…]
// It exits with 0 when all that the scenario says holds. The values are what the scenario needs to know: ids, tokens, places.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATIENCE_MS } from './support/expect.mjs';
import { Manners } from './support/manners.mjs';
import { axe, launch } from './support/tools.mjs';
import { Visitor } from './support/visitor.mjs';

/** Only bounds a scenario that has failed already. */
const LONGEST_MS = 8 * 60_000;
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
const DESK = { viewport: { width: 1280, height: 800 } };

const [scenario, base, directory, ...words] = process.argv.slice(2);
if (!directory) {
    console.error('usage: run.mjs SCENARIO BASE-URL DIRECTORY-FOR-SCREENSHOTS [NAME=VALUE…]');
    process.exit(2);
}
const given = Object.fromEntries(words.map((word) => [word.split('=', 1)[0], word.slice(word.indexOf('=') + 1)]));
setTimeout(() => {
    console.error(`${scenario} did not end`);
    process.exit(1);
}, LONGEST_MS).unref();

mkdirSync(directory, { recursive: true });
for (const old of readdirSync(directory).filter((name) => new RegExp(`^${scenario}-(\\d+|failed-\\d+)\\.png$`).test(name))) {
    rmSync(join(directory, old));
}

const browser = await launch();
const visitors = [];
let pictures = 0;

/** Chromium under load now and then has no frame to give. A picture is for people to look at; nothing is judged by it. */
async function taken(picture, tries = 3) {
    for (let number = 1; ; number++) {
        try {
            return await picture();
        } catch (error) {
            if (number === tries || !/Unable to capture screenshot/.test(error.message)) throw error;
        }
    }
}

/** Somebody with a browser of their own. `phone`, `dark` and `script: false` say what kind; the rest is playwright's. */
async function visitor({ phone = false, dark = false, script = true, ...more } = {}) {
    const context = await browser.newContext({
        ...(phone ? PHONE : DESK),
        colorScheme: dark ? 'dark' : 'light',
        javaScriptEnabled: script,
        locale: 'en-GB',
        ...more,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const manners = new Manners(page, base);
    const picture = async (what, of = page, options = { fullPage: true }) => {
        const name = `${scenario}-${++pictures}.png`;
        await taken(() => of.screenshot({ path: join(directory, name), ...options }));
        console.log(`${name}: ${what}`);
    };
    const somebody = new Visitor({ page, context, base, manners, picture });
    visitors.push(somebody);
    return somebody;
}

/** Lets the agents of the site go on that wait for a file of this name. */
const allow = (name) => writeFileSync(join(given.site, name), '');

/** Hands a request in past the dashboard. */
async function submit(request) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${base}/v1/sessions`, { method: 'POST', headers, body: JSON.stringify(request) });
    if (answer.status !== 202) throw new Error(`the request was not taken: ${answer.status} ${await answer.text()}`);
    return (await answer.json()).session_id;
}

let failed = false;
try {
    const { default: play } = await import(`./scenarios/${scenario}.mjs`);
    await play({ visitor, given, base, allow, submit, axe });
    for (const { manners } of visitors) manners.assertGood();
} catch (error) {
    failed = true;
    console.error(error.stack ?? error);
    for (const [number, somebody] of visitors.entries()) {
        console.error(await somebody.whatIsSeen());
        for (const offence of somebody.manners.offences) console.error(`  offence: ${offence}`);
        const path = join(directory, `${scenario}-failed-${number + 1}.png`);
        await somebody.page.screenshot({ path, timeout: 10_000 }).catch(() => {});
    }
}
await browser.close();
process.exit(failed ? 1 : 0);
