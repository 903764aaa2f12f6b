// Somebody at a browser, who knows pages as a screen reader tells them: by roles, labels and words, never by how they are built.
// Every verb waits until it can be done.

import { again, expect, expectEqual, until } from './expect.mjs';

/** More stops than any page may have before somebody gives up. */
const MAX_STOPS = 200;
const FIELDS = ['textbox', 'searchbox', 'spinbutton', 'combobox'];

export class Visitor {
    /** Where verbs look: the page, or one part of it. */
    #within;

    constructor(fields) {
        Object.assign(this, fields);
        this.#within = fields.within ?? fields.page;
    }

    /** The same person, looking at one section only: by its label, or by its heading. The last one found is the innermost. */
    in(name) {
        const heading = this.page.getByRole('heading', { level: 2, name, exact: true });
        const headed = this.page.locator('section').filter({ has: heading });
        return this.#at(this.page.getByRole('region', { name, exact: true }).or(headed).last());
    }

    /** The same person, looking at the row of a table that says all of this. */
    inRow(...words) {
        return this.#at(this.rows(words).first());
    }

    rows(words) {
        return words.reduce((rows, one) => rows.filter({ hasText: one }), this.#within.getByRole('row'));
    }

    #at(within) {
        return new Visitor({ ...this, within });
    }

    /** The one thing of this role and name. */
    the(role, name) {
        return this.#within.getByRole(role, { name, exact: true }).first();
    }

    field(label) {
        const named = FIELDS.map((role) => this.#within.getByRole(role, { name: label, exact: true }));
        // A field for a password has no role.
        const labelled = this.#within.getByLabel(label, { exact: true });
        return named.reduce((all, one) => all.or(one), labelled).first();
    }

    summary(words) {
        return this.#within.locator('summary').filter({ hasText: words }).first();
    }

    log(iteration) {
        return this.page.getByLabel(`Log of iteration ${iteration}`, { exact: true });
    }

    // What people do.

    async goes(path) {
        return until(`the page ${path}`, () => this.page.goto(new URL(path, this.base).href));
    }

    async follows(link) {
        await until(`a link «${link}» to follow`, () => this.the('link', link).click());
    }

    async presses(button) {
        await until(`a button «${button}» to press`, () => this.the('button', button).click());
    }

    async types(label, text) {
        await until(`a field «${label}» to type into`, () => this.field(label).fill(text));
    }

    async chooses(label, option) {
        await until(`«${option}» in «${label}»`, () => this.the('combobox', label).selectOption({ label: option }));
    }

    async opens(words) {
        const summary = this.summary(words);
        await until(`«${words}» to open`, () => summary.click());
    }

    // What people see.

    async sees(words) {
        await until(`the words «${words}»`, () => this.#within.getByText(words).first().waitFor());
    }

    async seesNot(words) {
        await until(`«${words}» to be gone`, () => this.#within.getByText(words).first().waitFor({ state: 'hidden' }));
    }

    async seesThe(role, name) {
        await until(`the ${role} «${name}»`, () => this.the(role, name).waitFor());
    }

    async seesNo(role, name) {
        await until(`no ${role} «${name}»`, () => this.the(role, name).waitFor({ state: 'hidden' }));
    }

    /** The page's one heading of the first level, and with it that this page is there. */
    async seesPage(heading) {
        await until(`the page «${heading}»`, () =>
            this.page.getByRole('main').getByRole('heading', { level: 1, name: heading, exact: true }).waitFor(),
        );
    }

    /** The status begins with these words. */
    async seesStatus(words) {
        const start = new RegExp(`^\\s*${literally(words)}`);
        await until(`the status «${words}»`, () => this.#within.getByRole('status').filter({ hasText: start }).first().waitFor());
    }

    async seesInLog(iteration, words) {
        await until(`«${words}» in the log of iteration ${iteration}`, () =>
            this.log(iteration).filter({ hasText: words }).first().waitFor(),
        );
    }

    /** A row of a table has all of these words. */
    async seesRow(...words) {
        await until(`a row with ${words.join(', ')}`, () => this.rows(words).first().waitFor());
    }

    async seesNoRow(...words) {
        await until(`no row with ${words.join(', ')}`, () => this.rows(words).first().waitFor({ state: 'hidden' }));
    }

    /** What a field holds now. */
    async finds(label, value) {
        expectEqual(await this.field(label).inputValue(), value, `the field «${label}»`);
    }

    path() {
        const url = new URL(this.page.url());
        return url.pathname + url.search;
    }

    async isAt(path) {
        await until(`the address ${path}`, () => this.page.waitForURL((url) => url.pathname + url.search === path));
    }

    /** Loads the page until it shows something: for those without script. */
    async reloadsUntil(what, shown) {
        await again(what, async () => {
            await this.page.reload();
            return shown(this);
        });
    }

    /** Whether the status begins with these words right now. */
    async isStatus(words) {
        const [status] = await this.#within.getByRole('status').allInnerTexts();
        return status?.trim().startsWith(words) ?? false;
    }

    /** Does all of it in one document: what changes, changes by itself. */
    async withoutReloading(deeds) {
        const mark = String(Math.random());
        await this.page.evaluate((mark) => (window.sameDocument = mark), mark);
        await deeds();
        expectEqual(await this.page.evaluate(() => window.sameDocument), mark, 'it is still the same document');
    }

    // What people without a mouse do.

    async hits(key) {
        await this.page.keyboard.press(key);
    }

    /** Goes on by the tabulator until something has the focus; where the focus is, is always to be seen. */
    async tabsTo(what, target, key = 'Tab') {
        const seen = [];
        for (let stop = 0; stop < MAX_STOPS; stop++) {
            await this.hits(key);
            const focus = await this.page.evaluate(describeFocus);
            seen.push(focus.name);
            expect(focus.isPage || focus.isMarked, `the focus on «${focus.name}» is to be seen`);
            if (await has(target)) return;
        }
        throw new Error(`«${what}» cannot be reached by the tabulator; the stops were ${seen.join(' · ')}`);
    }

    async tabsToThe(role, name) {
        await this.tabsTo(name, this.the(role, name));
    }

    async tabsBackToThe(role, name) {
        await this.tabsTo(name, this.the(role, name), 'Shift+Tab');
    }

    async hasFocus(locator) {
        return has(locator);
    }

    // For those who look into a failure.

    async whatIsSeen() {
        const quickly = { timeout: 5_000 };
        const shown = await this.page.locator('body').ariaSnapshot(quickly).catch((error) => `(nothing: ${error.message})`);
        return `--- ${this.page.url()}\n${shown.slice(0, 8_000)}`;
    }
}

async function has(locator) {
    if ((await locator.count()) === 0) return false;
    return locator.evaluate((element) => element === document.activeElement);
}

/** Runs in the page: who has the focus, and whether that is to be seen. */
function describeFocus() {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    const isMarked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
    const name = (element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent ?? '').trim();
    return { isPage: element === document.body, isMarked, name: `${element.localName} ${name.slice(0, 40)}` };
}

const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
