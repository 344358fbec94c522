import { createClient } from '@connectrpc/connect';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { PlantStore } from '../../../client/index.ts';
import { ErasureService } from '../../../gen/plantstore/v1/erasure_service_pb.ts';
import { TRANSPORTS } from '../../support/protocols.ts';
import { CHROMIUM, openConsole, type PageOptions } from './browser.ts';
import { startScene } from './scene.ts';

const positions = (page: Page) => page.getByRole('table', { name: 'Events' }).locator('td.position').allTextContents();

describe.skipIf(CHROMIUM === undefined)('what auditors see', () => {
  const scene = startScene();
  let token: string;
  let alice: PlantStore;
  let bob: PlantStore;
  beforeAll(async () => {
    const { url } = scene.service;
    token = await scene.service.token('auditor', 'plants:audit');
    alice = new PlantStore({ url, token: await scene.service.token('alice') });
    bob = new PlantStore({ url, token: await scene.service.token('bob') });
    await alice.add({ id: 7, name: 'Fern', tag: 'indoor' });
    await alice.add({ id: 9007199254740993n, name: 'Oak' });
    await bob.add({ id: 7, name: 'Moss' });
    await alice.delete(7);
    await alice.add({ id: 7, name: 'Ivy' });
  });

  const open = (hash: string, options: PageOptions = {}) => openConsole(scene, { token, hash, ...options });

  test('the log has the newest event first, each with what it says, its hashes and its place in the tree', async () => {
    await using opened = await open('#/log');
    const { page } = opened;
    await page.getByRole('link', { name: 'Event 5' }).waitFor();
    expect(await positions(page)).toEqual(['5', '4', '3', '2', '1']);
    await page.getByRole('link', { name: 'Event 2' }).focus();
    await page.keyboard.press('Enter');
    const detail = page.getByRole('complementary', { name: 'Event 2' });
    await detail.getByText('alice added “Oak” with the id 9007199254740993.').waitFor();
    const log = new Map(
      (await (await fetch(`${scene.service.url}/log/tile/0/000.p/5`)).bytes())
        .reduce<number[][]>((leaves, byte, index) => {
          if (index % 32 === 0) leaves.push([]);
          leaves.at(-1)!.push(byte);
          return leaves;
        }, [])
        .map((leaf, index) => [index, Buffer.from(leaf).toString('hex')]),
    );
    await detail.getByText(log.get(1)!).waitFor();
    await page.keyboard.press('Escape');
    await detail.waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('2');
  });

  test('it is filtered by owner, plant, type and time', async () => {
    await using opened = await open('#/log');
    const { page } = opened;
    await page.getByLabel('Owner').fill('alice');
    await expect.poll(() => positions(page)).toEqual(['5', '4', '2', '1']);
    await page.getByLabel('Plant').fill('7');
    await expect.poll(() => positions(page)).toEqual(['5', '4', '1']);
    await page.getByLabel('Type').selectOption('PlantDeleted');
    await expect.poll(() => positions(page)).toEqual(['4']);
    await page.getByLabel('From').fill('2100-01-01T00:00:00');
    await page.getByText('No event matches these filters.').waitFor();
    await page.getByRole('link', { name: 'Clear the filters' }).click();
    await expect.poll(() => positions(page)).toHaveLength(5);
    await page.getByLabel('Until').fill('2020-01-01T00:00:00');
    await page.getByText('No event matches these filters.').waitFor();
  });

  test('a plant has its history', async () => {
    await using opened = await open('#/log?event=4');
    const { page } = opened;
    await page.getByRole('link', { name: 'History of the plant' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    await expect.poll(() => page.locator('.story li').count()).toBe(3);
    expect(await page.locator('.story li p:last-child').allTextContents()).toEqual([
      'alice added “Fern” with the id 7 and the tag “indoor”.',
      'alice deleted plant 7.',
      'alice added “Ivy” with the id 7.',
    ]);
    await page.getByLabel('Owner').fill('carol');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('carol never had a plant with the id 7.').waitFor();
    await page.getByLabel('Plant').fill('seven');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('alert').getByText('The id of a plant is an integer from -9223372036854775808 to').waitFor();
    expect(await page.getByText('carol never had').count()).toBe(0);
    await page.goBack();
    await expect.poll(() => page.locator('.story li').count()).toBe(3);
  });

  test('a link with a time means the same in each time zone, and its field says in which it is', async () => {
    await using opened = await open('#/log?until=2020-01-01T00:00:00Z', { timezoneId: 'Asia/Kolkata' });
    const { page } = opened;
    expect(await page.getByLabel('Until (UTC+5:30)').inputValue()).toBe('2020-01-01T05:30');
    await page.getByText('No event matches these filters.').waitFor();
    await page.getByLabel('From (UTC+5:30)').fill('2019-01-01T00:00:05');
    await expect.poll(() => new URLSearchParams(page.url().split('?')[1]).get('from')).toBe('2018-12-31T18:30:05.000Z');
    expect(await page.getByLabel('From (UTC+5:30)').inputValue()).toBe('2019-01-01T00:00:05');
    // A year that is not typed in full stays.
    await page.getByLabel('From (UTC+5:30)').fill('0002-01-01T00:00');
    await expect.poll(() => page.url()).toContain('from=0001-12-31');
    expect(await page.getByLabel('From (UTC+5:30)').inputValue()).toBe('0002-01-01T00:00');
  });

  test('times are whole on a desk, and name their zone on a phone', async () => {
    await using desk = await open('#/log', { viewport: { width: 1280, height: 800 } });
    const cell = desk.page.locator('td.time').first();
    await cell.waitFor();
    expect(await cell.evaluate('document.querySelector("td.time").scrollWidth')).toBe(
      await cell.evaluate('document.querySelector("td.time").clientWidth'),
    );
    await using phone = await open('#/log', { viewport: { width: 375, height: 700 }, timezoneId: 'UTC' });
    const row = phone.page.getByRole('row').filter({ hasText: 'PlantDeleted' }).first();
    await row.getByText('UTC').waitFor();
    const [whole, time] = [(await row.boundingBox())!, (await row.locator('time').boundingBox())!];
    expect(time.y + time.height).toBeLessThanOrEqual(whole.y + whole.height);
    expect(time.x + time.width).toBeLessThanOrEqual(whole.x + whole.width);
  });

  test('the plants are shown as they were, and what changed between two moments', async () => {
    await using opened = await open('#/time');
    const { page } = opened;
    await page.getByText('3 plants').waitFor();
    const slider = page.getByRole('slider');
    await slider.focus();
    await page.keyboard.press('ArrowLeft');
    await page.getByText('2 plants after event 4').waitFor();
    await page.getByLabel('Position', { exact: true }).fill('1');
    await page.getByText('1 plant after event 1').waitFor();
    const table = page.getByRole('table', { name: 'Plants then' });
    await table.getByText('Fern').waitFor();
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('From 1 to 5: 1 removed, 3 added').waitFor();
    await page.getByRole('table', { name: 'Removed' }).getByText('Fern').waitFor();
    await page.getByRole('table', { name: 'Added' }).getByText('Ivy').waitFor();
    await page.getByLabel('Owner').fill('bob');
    await page.getByText('From 1 to 5: 0 removed, 1 added').waitFor();
  });

  test('the instance says how it stands', async () => {
    await using opened = await open('#/instance');
    const { page } = opened;
    await page
      .getByRole('status')
      .filter({ hasText: /^Ready$/ })
      .waitFor();
    await page.getByText('0/s', { exact: true }).first().waitFor();
    await page.getByText('This instance, the only one').waitFor();
    await alice.add({ id: 100, name: 'Sage' });
    await page.getByText('6', { exact: true }).first().waitFor();
  });

  test('what is appended comes by itself; Pause holds it and counts it, Resume shows it', async () => {
    await using opened = await open('#/log');
    const { page } = opened;
    const first = page.getByRole('table', { name: 'Events' }).locator('td.position').first();
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    const before = Number(await first.textContent());
    await alice.add({ id: 101, name: 'Thyme' });
    await page.getByRole('link', { name: `Event ${before + 1}` }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('status').filter({ hasText: 'Paused' }).waitFor();
    await bob.add({ id: 101, name: 'Sage' });
    await bob.add({ id: 102, name: 'Mint' });
    await page.locator('.waiting').getByText('2 new events').waitFor();
    expect(await first.textContent()).toBe(String(before + 1));
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('link', { name: `Event ${before + 3}` }).waitFor();
    expect(await page.locator('.waiting').textContent()).toBe('');
  });

  test('a long log is read as far as one scrolls, and nothing moves under who reads it', async () => {
    const many = Array.from({ length: 400 }, (_, index) => ({ id: 1_000 + index, name: `Reed ${index}` }));
    for (const plant of many) await bob.add(plant);
    await using opened = await open('#/log');
    const { page } = opened;
    await page.getByRole('link', { name: 'Event 40' }).first().waitFor();
    const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr');
    expect(await rows.count()).toBeLessThan(60);
    // A page tells that it was scrolled in its next frame: what is drawn by the one after that stays.
    const scrollToEnd = `new Promise((drawn) => {
      scrollTo(0, document.body.scrollHeight);
      requestAnimationFrame(() => requestAnimationFrame(drawn));
    })`;
    await expect
      .poll(async () => {
        await page.evaluate(scrollToEnd);
        return (await positions(page)).at(-1);
      })
      .toBe('1');
    expect(await rows.count()).toBeLessThan(60);
    const shown = await positions(page);
    await alice.add({ id: 103, name: 'Late' });
    await page.locator('.waiting').getByText('1 new event').waitFor();
    expect(await positions(page)).toEqual(shown);
    // It is in sight, wherever one is.
    const toNewest = page.getByRole('button', { name: 'To the newest' });
    expect((await toNewest.boundingBox())!.y).toBeGreaterThanOrEqual(0);
    await toNewest.click();
    await page.getByText('Late').waitFor();
  });

  test('the slider of Time loses no move, however fast it is moved', async () => {
    await using opened = await open('#/time');
    const { page } = opened;
    const slider = page.getByRole('slider');
    const from = Number(await slider.inputValue());
    await slider.focus();
    for (let move = 0; move < 300; move++) await page.keyboard.press('ArrowLeft');
    expect(Number(await slider.inputValue())).toBe(from - 300);
    await expect.poll(() => page.url()).toContain(`position=${from - 300}`);
    await page.getByText(`after event ${from - 300}`).waitFor();
  });

  test('who types a filter beside an open event keeps the focus in the field', async () => {
    await using opened = await open('#/log');
    const { page } = opened;
    await page.locator('td.position a').first().click();
    await page.getByText('Leaf hash').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Event \d+$/);
    await page.getByLabel('Owner').focus();
    await page.keyboard.type('alice');
    await expect.poll(() => page.url()).toContain('owner=alice');
    await page.getByText('Leaf hash').waitFor();
    expect(await page.evaluate('document.activeElement.labels?.[0].textContent')).toBe('Owner');
  });

  test('when older events cannot be read, a button reads them', async () => {
    await using opened = await open('#/log');
    const { page } = opened;
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    await page.route('**/ReadEvents', (route) => route.abort());
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    const load = page.getByRole('button', { name: 'Load older events' });
    await load.waitFor();
    await page.unroute('**/ReadEvents');
    const before = await page.evaluate('document.body.scrollHeight');
    // Not click(), which scrolls: at the end of the page the log reads on by itself, and the button goes.
    await load.dispatchEvent('click');
    await expect.poll(() => page.evaluate('document.body.scrollHeight')).toBeGreaterThan(before as number);
  });

  test('what an erasure removed leaves the pages that show it, and History reads again when it is told to', async () => {
    const { service } = scene;
    const carol = new PlantStore({ url: service.url, token: await service.token('carol') });
    const { position } = await carol.add({ id: 5, name: 'Secret fern' });
    // So that an event that is opened from a link is not among those that were loaded.
    for (let id = 10_000; id < 10_250; id++) await alice.add({ id, name: 'Reed' });
    await carol.add({ id: 6, name: 'Secret moss' });
    await using log = await open('#/log');
    await using ofCarol = await open('#/log?owner=carol');
    await using event = await open(`#/log?event=${position}`);
    await using history = await open('#/history?owner=carol&plant=5');
    const pages = [log, ofCarol, event, history].map(({ page }) => page);
    for (const page of pages) await page.getByText('Secret').first().waitFor();

    const options = { headers: { authorization: `Bearer ${await service.token('operator', 'plants:erase')}` } };
    const erasure = createClient(ErasureService, TRANSPORTS[0]!.open(service));
    for await (const _ of erasure.eraseOwner({ owner: 'carol' }, options));
    await history.page.getByRole('button', { name: 'Show' }).click();
    await log.page.locator('td.OwnerErased').waitFor();
    for (const page of pages) await expect.poll(() => page.getByText('Secret').count()).toBe(0);
    await event.page.getByText('erased the content of this event.').waitFor();
    await history.page.getByText('carol never had a plant with the id 5.').waitFor();
  });
});
