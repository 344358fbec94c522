import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** The browser of this machine: CHROMIUM_PATH, or by the usual names on PATH. Undefined: there is none. */
function findChromium(): string | undefined {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH;
  const folders = (process.env.PATH ?? '').split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}

/** Undefined: there is no browser, and the suites that need one are skipped. With CI=true they fail instead. */
export const CHROMIUM: string | undefined = findChromium();

if (CHROMIUM === undefined) {
  const missing = 'no Chromium: install it (apt-get install chromium), or name one by CHROMIUM_PATH';
  if (process.env.CI) throw new Error(missing);
  console.warn(`the tests of the console are skipped: ${missing}`);
}

/** Starts the browser. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** A page, and all that it did that no page of the console may do. */
export interface Watched {
  readonly page: Page;
  /** Requests to other origins, violations of the policy, errors and warnings of the browser's console. */
  readonly offences: string[];
}

/** What the browser itself says of answers that a test asks for. */
const EXPECTED = /^Failed to load resource: (the server responded|net::ERR_)/;

/** Opens a page in a context of its own, and watches it. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const offences: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !EXPECTED.test(message.text()))
      offences.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => offences.push(`uncaught: ${error.message}`));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:' && origin !== new URL(url).origin)
      offences.push(`foreign: ${request.url()}`);
  });
  await page.goto(url);
  return { page, offences };
}
