// The packages of target/tools (tests/tools/install browser), and the system's Chromium.

import { createRequire } from 'node:module';

const require = createRequire(new URL('../../../target/tools/', import.meta.url));
const { chromium } = require('playwright-core');

export const axe = require('axe-core');

/** A browser without windows. The sandbox needs a user that is not root, and the pages are our own. */
export const launch = () =>
    chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
