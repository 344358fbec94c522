import { beforeAll, describe, expect, test } from 'vitest';
import { PlantStore } from '../../../client/index.ts';
import { seriousViolations } from './axe.ts';
import { CHROMIUM, openConsole } from './browser.ts';
import { startScene } from './scene.ts';

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
  ['#/instance', 'Up since'],
];

const WIDTHS = [375, 1280] as const;

describe.skipIf(CHROMIUM === undefined)('every pane can be used by everybody', () => {
  const scene = startScene();
  let token: string;
  beforeAll(async () => {
    token = await scene.service.token('alice', 'plants:read plants:write plants:audit');
    const client = new PlantStore({ url: scene.service.url, token });
    for (const plant of [
      { id: 1, name: 'Fern', tag: 'indoor' },
      { id: 2, name: '' },
      { id: 3, name: 'Oak' },
      { id: 4, name: 'Moss', tag: '' },
    ])
      await client.add(plant);
    await client.delete(3);
  });

  /** At each width, light and dark. */
  async function check(hash: string, sign: string, as?: string) {
    await using opened = await openConsole(scene, {
      ...(as !== undefined && { token: as }),
      ...{ hash, colorScheme: 'light', viewport: { width: WIDTHS[0], height: 800 } },
    });
    const { page } = opened;
    await page.getByText(sign).first().waitFor({ state: 'attached' });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: 'light' });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect(await seriousViolations(page), `${width} px, light`).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      const dark = await seriousViolations(page, { runOnly: ['color-contrast'] });
      expect(dark, `${width} px, dark`).toEqual([]);
    }
  }

  test.each(PAGES)('%s', (hash, sign) => check(hash, sign, token));
  test('who is not signed in', () => check('#/plants', 'Token'));
  test('who may not see it', async () =>
    check('#/log', 'This pane needs plants:audit', await scene.service.token('bob')));
});
