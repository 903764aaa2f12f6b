// What no page may do, whoever looks at it and whatever it shows: complain, load from elsewhere, open windows, answer without a strict
// policy. Every visitor watches for it all the time.

import { expect } from './expect.mjs';

const NEEDED_DIRECTIVES = ['default-src', 'base-uri', 'form-action', 'frame-ancestors'];
const LOOSE = /unsafe-|strict-dynamic|\*|https?:|data:/;

/** What is wrong with the policy of a page. */
export function laxities(policy) {
    if (!policy) return ['there is no Content-Security-Policy'];
    const directives = policy.split(';').map((directive) => directive.trim().split(/\s+/));
    const found = NEEDED_DIRECTIVES.filter((name) => !directives.some(([known]) => known === name)).map((name) => `${name} is missing`);
    for (const [name, ...sources] of directives) {
        const allowed = name === 'img-src' ? sources.filter((source) => source !== 'data:') : sources;
        const loose = allowed.filter((source) => LOOSE.test(source));
        if (loose.length > 0) found.push(`${name} allows ${loose.join(' ')}`);
    }
    return found;
}

export class Manners {
    /** What happened that must not. */
    offences = [];
    #foreseen = new Set();

    constructor(page, base) {
        const origin = new URL(base).origin;
        page.on('console', (message) => {
            // A bad status is judged below, where it is known whether it was foreseen.
            if (message.type() !== 'error' || message.text().startsWith('Failed to load resource')) return;
            this.offences.push(`console: ${message.text()}`);
        });
        page.on('pageerror', (error) => this.offences.push(`script: ${error.message}`));
        page.on('popup', (popup) => this.offences.push(`a new window: ${popup.url()}`));
        page.on('dialog', (dialog) => {
            this.offences.push(`dialog: ${dialog.message()}`);
            dialog.dismiss().catch(() => {});
        });
        page.on('request', (request) => {
            const url = new URL(request.url());
            if (/^https?:$/.test(url.protocol) && url.origin !== origin && !this.#foreseen.has(url.origin)) {
                this.offences.push(`a request to elsewhere: ${url}`);
            }
        });
        page.on('response', (response) => this.#judge(response, origin));
    }

    /** Says that an answer of this status, or a page of this origin, belongs to the scenario. */
    foresee(...what) {
        what.forEach((one) => this.#foreseen.add(one));
    }

    #judge(response, origin) {
        const about = `${response.request().method()} ${response.url()}`;
        if (new URL(response.url()).origin !== origin) return;
        if (response.status() >= 400 && !this.#foreseen.has(response.status())) this.offences.push(`${response.status()} for ${about}`);
        const headers = response.headers();
        if (!headers['content-type']?.startsWith('text/html')) return;
        this.offences.push(...laxities(headers['content-security-policy']).map((lax) => `${lax}: ${about}`));
        if (headers['x-content-type-options'] !== 'nosniff') this.offences.push(`no nosniff: ${about}`);
    }

    assertGood() {
        expect(this.offences.length === 0, `pages behave:\n  ${this.offences.join('\n  ')}`);
    }
}
