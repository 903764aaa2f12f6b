// Waiting for a condition, never for a time: the deadline only bounds a test that has failed already.

export const PATIENCE_MS = 60_000;

/** Says what was expected when something is not so. */
export function expect(holds, what) {
    if (!holds) throw new Error(`not so: ${what}`);
}

/** The same for two values, which are compared as they are written. */
export function expectEqual(found, wanted, what) {
    const [left, right] = [found, wanted].map((value) => JSON.stringify(value));
    expect(left === right, `${what}: found ${left}, wanted ${right}`);
}

/** Waits for something of playwright's, and says in plain words what did not come. */
export async function until(what, wait) {
    try {
        return await wait();
    } catch (error) {
        throw new Error(`waited in vain for: ${what}\n${error.message}`, { cause: error });
    }
}

/** Does something again and again until it yields something that is not false. Each round must take its own time: a page that loads. */
export async function again(what, attempt) {
    const end = Date.now() + PATIENCE_MS;
    while (Date.now() < end) {
        const found = await attempt();
        if (found) return found;
    }
    throw new Error(`tried in vain: ${what}`);
}
