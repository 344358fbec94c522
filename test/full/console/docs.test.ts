import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { seriousViolations } from './axe.ts';
import { CHROMIUM, openPage } from './browser.ts';
import { startScene } from './scene.ts';

/** Colours change gradually after the page has come. */
const expectAccessible = (page: Page) =>
  expect.poll(() => seriousViolations(page), { timeout: 30_000, interval: 1_000 }).toEqual([]);

describe.skipIf(CHROMIUM === undefined)('the page /docs', () => {
  const scene = startScene();

  test('tries out one request after the other', async () => {
    await using opened = await openPage(scene.browser, `${scene.service.url}/docs`);
    const { page } = opened;
    page.setDefaultTimeout(60_000);
    await page
      .getByPlaceholder('Token')
      .first()
      .fill(await scene.service.token('alice'));
    await page.getByRole('button', { name: 'Test Request (post /plants)' }).click();
    const dialog = page.getByRole('dialog');
    const tryOut = async (body: string): Promise<string> => {
      await dialog.locator('.cm-content').first().click();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText(body);
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === 'POST'),
        dialog.getByRole('button', { name: /^Send post request/ }).click(),
      ]);
      expect(answer.request().headers()).not.toHaveProperty('idempotency-key');
      return `${answer.status()} ${await answer.text()}`;
    };
    expect(await tryOut('{"id":1,"name":"Fern"}')).toBe('200 {"name":"Fern"}');
    expect(await tryOut('{"id":2,"name":"Oak"}')).toBe('200 {"name":"Oak"}');
    expect(await tryOut('{"id":2,"name":"Oak"}')).toMatch(/^400 .*a plant with id 2 already exists/);
    await dialog.getByText('a plant with id 2 already exists').waitFor();
    await expectAccessible(page);
  });

  test.each([375, 1280])('can be used by everybody at %i px, in light and in dark', async (width) => {
    await using opened = await openPage(scene.browser, `${scene.service.url}/docs`, {
      viewport: { width, height: 800 },
    });
    const { page } = opened;
    await page.getByText('Every failure has an').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.reload();
    await page.getByText('Every failure has an').waitFor();
    expect(await page.evaluate('document.body.classList.contains("dark-mode")')).toBe(true);
    await expectAccessible(page);
  });

  test('has an example of a failure, and samples of code', async () => {
    await using opened = await openPage(scene.browser, `${scene.service.url}/docs`);
    const { page } = opened;
    await page
      .getByRole('tab', { name: /^Status: 413/ })
      .first()
      .click();
    await page.getByText('the body exceeds 64 KiB').filter({ visible: true }).first().waitFor();
    await page
      .locator('pre')
      .filter({ hasText: `curl ${scene.service.url}/plants`, visible: true })
      .first()
      .waitFor();
  });

  test('is one step from the console, to which / leads, and back', async () => {
    await using opened = await openPage(scene.browser, scene.service.url);
    const { page } = opened;
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { name: 'Plant Store' }).waitFor();
    await page.getByRole('link', { name: 'Console', exact: true }).click();
    await page.getByRole('navigation', { name: 'Panes' }).waitFor();
  });
});
