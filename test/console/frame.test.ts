import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';
import { CHROMIUM, openBrowser, openPage } from './browser.ts';

describe.skipIf(CHROMIUM === undefined)('the console', () => {
  let service: Service;
  let browser: Browser;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), openBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  test('opens', async () => {
    const { page, offences } = await openPage(browser, `${service.url}/console`);
    await page.getByRole('navigation', { name: 'Panes' }).getByRole('link', { name: 'Log' }).click();
    await page.getByRole('heading', { level: 1, name: 'Log' }).waitFor();
    expect(offences).toEqual([]);
    await page.context().close();
  });
});
