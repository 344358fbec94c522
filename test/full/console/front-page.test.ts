import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, expectError } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { CHROMIUM, openBrowser, openPage } from './browser.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

const BROWSERS = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('/', () => {
  test.each([BROWSERS, 'text/html', 'TEXT/HTML;q=0.1', 'application/json;q=0.5, text/html'])(
    'leads who asks for a page to the console: %s',
    async (accept) => {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers, text } = await client(service.url)(method, '/', { headers: { accept } });
        expect([status, headers.location, headers.vary, text]).toEqual([302, '/console', 'accept', '']);
      }
    },
  );

  test.each([undefined, '*/*', 'application/json', 'text/html;q=0', 'text/html, application/json', 'text/htmlx'])(
    'is nothing for others: %s',
    async (accept) => {
      const reply = await client(service.url)('GET', '/', { headers: { accept } });
      expectError(reply, 404, 5);
      expect(reply.headers.vary).toBe('accept');
    },
  );

  test('is nothing but to read', async () => {
    const answer = await client(service.url)('POST', '/', { headers: { accept: BROWSERS } });
    expectError(answer, 405, 12);
    expect(answer.headers.allow).toBe('GET, HEAD');
  });
});

describe.skipIf(CHROMIUM === undefined)('a newcomer with a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
  });

  test('is signed in by the link of the welcome, whose token is in no address and no request line', async () => {
    const [link] = /http:\S+\/console#token=\S+/.exec(service.output)!;
    await using opened = await openPage(browser, link);
    const { page } = opened;
    await page.getByText('alice', { exact: true }).first().waitFor();
    for (const pane of ['Log', 'Instance', 'Proof']) {
      await page.getByRole('navigation', { name: 'Panes' }).getByRole('link', { name: pane }).click();
      await page.getByRole('heading', { level: 1, name: pane }).waitFor();
      expect(await page.getByText('This pane needs').count()).toBe(0);
    }
    const token = link.split('#token=')[1]!;
    expect(page.url()).not.toContain(token);
    await page.goBack();
    expect(page.url()).not.toContain(token);
    expect(JSON.stringify(service.logs)).not.toContain(token);
  });
});
