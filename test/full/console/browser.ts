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
  chromium.launch({
    executablePath: CHROMIUM!,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    // Users have this protection.
    ignoreDefaultArgs: ['--disable-ipc-flooding-protection'],
  });

/**
 * A page of the console. When it is closed, it must have done nothing that it may not do: requests to other origins,
 * violations of the policy, errors and warnings in the browser's console, calls that were refused.
 */
export interface Watched extends AsyncDisposable {
  readonly page: Page;
}

/** What the browser itself says of an answer that is no success, or of a service that is not there. */
const FAILED_LOAD = /^Failed to load resource: /;

/** Where to look, and as who. */
export interface PageOptions extends BrowserContextOptions {
  readonly token?: string;
  /** Such as `#/log`. */
  readonly hash?: string;
}

/** Opens the console of a service in a context of its own, signed in where there is a token, and watches it. */
export async function openConsole(
  { service, browser }: { readonly service: { readonly url: string }; readonly browser: Browser },
  { token, hash = '', ...options }: PageOptions = {},
): Promise<Watched> {
  const opened = await openPage(
    browser,
    `${service.url}/console${token === undefined ? hash : `#token=${token}`}`,
    options,
  );
  if (token !== undefined && hash !== '') await opened.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  return opened;
}

/**
 * Opens a page of the service in a context of its own, and watches it. A token in its address must get into no request
 * line.
 */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const offences: string[] = [];
  const [, token] = address.split('#token=');
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !FAILED_LOAD.test(message.text()))
      offences.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => offences.push(`uncaught: ${error.message}`));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:' && origin !== new URL(address).origin)
      offences.push(`foreign: ${request.url()}`);
    if (token !== undefined && request.url().includes(token)) offences.push('the token is in a request line');
  });
  page.on('response', (response) => {
    if (response.status() === 403) offences.push(`a call was made to be refused: ${response.url()}`);
  });
  await page.goto(address);
  return {
    page,
    async [Symbol.asyncDispose]() {
      await context.close();
      if (offences.length > 0) throw new Error(offences.join('\n'));
    },
  };
}
