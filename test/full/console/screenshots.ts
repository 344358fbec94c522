// npm run screenshots: takes the pictures of docs/console.md anew, from a service of its own with a little garden in
// it.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { type NewPlant, PlantStore } from '../../../client/index.ts';
import { startService } from '../../support/service.ts';
import { CHROMIUM, openBrowser, openConsole, type PageOptions } from './browser.ts';

const FOLDER = 'docs/console';
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 375, height: 760 };

/** A picture: where it is taken, what has to be there first, and how. */
interface Picture {
  readonly name: string;
  readonly hash: string;
  readonly sign: string;
  readonly options?: PageOptions;
}

const PICTURES: readonly Picture[] = [
  { name: 'plants', hash: '#/plants', sign: 'Monstera deliciosa' },
  { name: 'log', hash: '#/log?event=9', sign: 'Leaf hash' },
  { name: 'history', hash: '#/history?owner=alice&plant=3', sign: 'deleted plant 3' },
  { name: 'time', hash: '#/time?position=29&with=12', sign: ' removed' },
  { name: 'proof', hash: '#/proof?position=9', sign: 'Leaf hash' },
  { name: 'instance', hash: '#/instance', sign: 'Up since' },
  { name: 'plants-phone', hash: '#/plants', sign: 'Monstera deliciosa', options: { viewport: PHONE } },
  { name: 'log-phone', hash: '#/log', sign: 'PlantDeleted', options: { viewport: PHONE, colorScheme: 'dark' } },
  { name: 'time-phone', hash: '#/time?position=20', sign: 'after event 20', options: { viewport: PHONE } },
];

const GARDEN: readonly NewPlant[] = [
  { id: 1, name: 'Fern', tag: 'indoor' },
  { id: 2, name: 'Monstera deliciosa', tag: 'indoor' },
  { id: 3, name: 'Basil', tag: 'kitchen' },
  { id: 4, name: 'Lavender', tag: 'balcony' },
  { id: 5, name: 'Thyme', tag: 'kitchen' },
  { id: 6, name: 'Ivy' },
  { id: 7, name: 'Aloe vera', tag: 'indoor' },
  { id: 8, name: 'Sage', tag: 'kitchen' },
  { id: 9, name: 'Maidenhair fern', tag: 'indoor' },
  { id: 9007199254740993n, name: 'Oak', tag: 'garden' },
];

async function take(browser: Browser, token: string, picture: Picture): Promise<void> {
  const { name, hash, sign, options } = picture;
  await using opened = await openConsole({ service, browser }, { token, hash, viewport: DESKTOP, ...options });
  const { page } = opened;
  await page.getByText(sign).first().waitFor({ state: 'attached' });
  // The rates of an instance need two reports.
  await sleep(name === 'instance' ? 5_000 : 1_000);
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  console.log(`${FOLDER}/${name}.png`);
}

/** Adds and deletes until it is told to stop, now more and now less. */
async function bustle(client: PlantStore, signal: AbortSignal): Promise<void> {
  for (let id = 1_000; !signal.aborted; id++) {
    await client.add({ id, name: `Seedling ${id}` });
    await client.delete(id);
    await sleep(30 + 25 * Math.sin(id / 40));
  }
}

if (CHROMIUM === undefined) process.exit(1);
mkdirSync(FOLDER, { recursive: true });
const service = await startService();
const browser = await openBrowser();
try {
  const token = await service.token('alice', 'plants:read plants:write plants:audit');
  const alice = new PlantStore({ url: service.url, token });
  const bob = new PlantStore({ url: service.url, token: await service.token('bob') });
  for (const plant of GARDEN) {
    await alice.add(plant);
    await bob.add({ ...plant, id: BigInt(plant.id) + 100n });
  }
  for (const id of [3, 6]) await alice.delete(id);
  for (const id of [101, 104, 108]) await bob.delete(id);
  await alice.add({ id: 3, name: 'Thai basil', tag: 'kitchen' });
  await alice.add({ id: 10, name: 'Mint', tag: 'kitchen' });
  await bob.add({ id: 1, name: 'Cactus' });
  await bob.add({ id: 2, name: 'Bonsai', tag: 'desk' });
  for (const picture of PICTURES.filter(({ name }) => name !== 'instance')) await take(browser, token, picture);
  const stop = new AbortController();
  const busy = bustle(bob, stop.signal);
  await take(browser, token, PICTURES.find(({ name }) => name === 'instance')!);
  stop.abort();
  await busy;
} finally {
  await browser.close();
  await service.stop();
}
