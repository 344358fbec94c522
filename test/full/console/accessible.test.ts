import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../support/service.ts';
import { seriousViolations } from './axe.ts';
import { CHROMIUM, openBrowser, openConsole } from './browser.ts';
import { PlantsClient } from './plants-client.ts';

/** What is on each page once it is whole. */
const PAGES: readonly (readonly [hash: string, sign: string])[] = [
  ['#/plants', '3 plants'],
  ['#/log', 'PlantDeleted'],
  ['#/log?event=2', 'Leaf hash'],
  ['#/history?owner=alice&plant=3', 'deleted plant 3'],
  ['#/time', 'after event 5'],
  ['#/time?position=5&with=1', '2 added'],
  ['#/proof?position=2', 'Leaf hash'],
  ['#/proof?position=99', 'so none at position 99'],
  ['#/instance', 'Answered from memory'],
];

const WIDTHS = [375, 1280] as const;

describe.skipIf(CHROMIUM === undefined)('every pane can be used by everybody', () => {
  let service: Service;
  let browser: Browser;
  let token: string;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startService(), openBrowser()]);
    token = await service.token('alice', 'plants:read plants:write plants:audit');
    const client = new PlantsClient(service.url, token);
    await client.add(
      { id: 1, name: 'Fern', tag: 'indoor' },
      { id: 2, name: '' },
      { id: 3, name: 'Oak' },
      { id: 4, name: 'Moss', tag: '' },
    );
    await client.delete(3);
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  /** At each width, light and dark. */
  async function check(hash: string, sign: string, as?: string) {
    await using opened = await openConsole(browser, service.url, {
      ...(as !== undefined && { token: as }),
      ...{ hash, colorScheme: 'light', viewport: { width: WIDTHS[0], height: 800 } },
    });
    const { page, offences } = opened;
    await page.getByText(sign).first().waitFor({ state: 'attached' });
    expect(offences).toEqual([]);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: 'light' });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect(await seriousViolations(page), `${width} px, light`).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      const dark = await seriousViolations(page, { runOnly: ['color-contrast'] });
      expect(dark, `${width} px, dark`).toEqual([]);
    }
    expect(offences).toEqual([]);
  }

  test.each(PAGES)('%s', (hash, sign) => check(hash, sign, token));
  test('who is not signed in', () => check('#/plants', 'Token'));
  test('who may not see it', async () => check('#/log', 'This pane needs plants:audit', await service.token('bob')));
});
