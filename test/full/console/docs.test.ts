import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../support/service.ts';
import { CHROMIUM, openBrowser, openPage } from './browser.ts';

describe.skipIf(CHROMIUM === undefined)('the page /docs', () => {
  let service: Service;
  let browser: Browser;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), openBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  test('tries out one request after the other', async () => {
    await using opened = await openPage(browser, `${service.url}/docs`);
    const { page, offences } = opened;
    page.setDefaultTimeout(60_000);
    await page.getByRole('button', { name: 'Authorize' }).click();
    const dialog = page.locator('.dialog-ux');
    await dialog.locator('input').fill(await service.token('alice'));
    await dialog.locator('button.authorize').click();
    await dialog.locator('button.btn-done').click();

    const operation = page.locator('#operations-plants-createPlant');
    await operation.locator('.opblock-summary').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    const tryOut = async (body: string): Promise<string> => {
      await operation.locator('textarea.body-param__text').fill(body);
      const answered = page.waitForResponse((response) => response.request().method() === 'POST');
      await operation.getByRole('button', { name: 'Execute' }).click();
      const answer = await answered;
      expect(answer.request().headers()).not.toHaveProperty('idempotency-key');
      return `${answer.status()} ${await answer.text()}`;
    };
    expect(await tryOut('{"id":1,"name":"Fern"}')).toBe('200 {"name":"Fern"}');
    expect(await tryOut('{"id":2,"name":"Oak"}')).toBe('200 {"name":"Oak"}');
    expect(await tryOut('{"id":2,"name":"Oak"}')).toMatch(/^400 .*a plant with id 2 already exists/);
    // The real example of a failure, and not one that is made of the schema.
    expect(await operation.locator('tr.response[data-code="413"]').textContent()).toContain('at most 64 KiB');
    expect(offences).toEqual([]);
  });
});
