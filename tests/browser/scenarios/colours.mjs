// Every page by day and by night, with a picture of each.

import { expect } from '../support/expect.mjs';

/** Runs in the page: how bright its ground and its letters are, from 0 to 1. */
function brightness() {
    const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const of = (colour) => {
        paint.clearRect(0, 0, 1, 1);
        paint.fillStyle = colour;
        paint.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = paint.getImageData(0, 0, 1, 1).data;
        return alpha === 0 ? undefined : (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
    };
    const [body, root] = [document.body, document.documentElement].map((element) => getComputedStyle(element));
    return { ground: of(body.backgroundColor) ?? of(root.backgroundColor) ?? 1, letters: of(body.color) };
}

export default async function ({ visitor, given }) {
    for (const dark of [false, true]) {
        const anna = await visitor({ dark });
        for (const path of given.pages.split(',')) {
            await anna.goes(path);
            await anna.seesThe('main');
            const { ground, letters } = await anna.page.evaluate(brightness);
            const [darker, lighter] = dark ? [ground, letters] : [letters, ground];
            expect(darker < 0.25 && lighter > 0.75, `${path} is ${dark ? 'dark' : 'light'}: ground ${ground}, letters ${letters}`);
            await anna.picture(`${path}, ${dark ? 'dark' : 'light'}`);
        }
    }
}
