import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { PlantStore } from '../../../client/index.ts';
import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { freePort } from '../../support/free-port.ts';
import { startService } from '../../support/service.ts';
import { CHROMIUM, openBrowser, openConsole } from './browser.ts';
import { startScene } from './scene.ts';

const BOTH = 'plants:read plants:write';

const rowOf = (page: Page, name: string) =>
  page.getByRole('table', { name: 'Plants' }).getByRole('row').filter({ hasText: name });

describe.skipIf(CHROMIUM === undefined)('the pane Plants', () => {
  const scene = startScene({ JWT_REQUIRED_SCOPES: 'plants:read plants:write' });

  async function open(owner: string, scope = BOTH) {
    const token = await scene.service.token(owner, scope);
    const client = new PlantStore({ url: scene.service.url, token });
    return { ...(await openConsole(scene, { token })), client };
  }

  test('the token goes out of the address bar into this tab, and in no request line', async () => {
    const token = await scene.service.token('alice', BOTH);
    await using opened = await openConsole(scene, { token });
    const { page } = opened;
    await page.getByText('No plants yet.').waitFor();
    expect(page.url()).toBe(`${scene.service.url}/console`);
    expect(await page.evaluate('sessionStorage.getItem("plantstore.token")')).toBe(token);
    expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').fill('nonsense');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This is not a token.').waitFor();
    await page.getByLabel('Token').fill(`${token.slice(0, -9)} ${token.slice(-9)}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This is not a token: it has a character that no token has.').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.getByLabel('Token').fill(`TOKEN="${token}"`);
    await page.keyboard.press('Enter');
    await page.getByText('No plants yet.').waitFor();
  });

  test('a link that signs in as somebody else asks first, and one that is cut off says so', async () => {
    const [alice, mallory] = [await scene.service.token('alice', BOTH), await scene.service.token('mallory', BOTH)];
    await using opened = await openConsole(scene, { token: alice });
    const { page } = opened;
    await page.getByText('No plants yet.').waitFor();
    for (const [button, owner] of [
      ['Stay alice', 'alice'],
      ['Sign in as mallory', 'mallory'],
    ] as const) {
      await page.evaluate(`location.hash = '#token=${mallory}'`);
      await page.getByRole('button', { name: button }).click();
      await page.locator('.who-name').filter({ hasText: owner }).waitFor();
      expect(page.url()).toBe(`${scene.service.url}/console`);
    }
    await page.evaluate(`location.hash = '#token=${alice}'`);
    await page.getByRole('button', { name: 'Sign in as alice' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.getByText('The link that you opened').count()).toBe(0);
    await using other = await openConsole(scene, { token: alice.slice(0, 20) });
    await other.page.getByText('holds no whole token').waitFor();
    await other.page.getByLabel('Token').fill(alice);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByRole('button', { name: 'Sign out' }).click();
    await other.page.getByLabel('Token').waitFor();
    expect(await other.page.getByText('holds no whole token').count()).toBe(0);
  });

  test('who signs in after another sees neither what the other one did nor what they typed', async () => {
    await using opened = await open('first');
    const { page, client } = opened;
    await client.add({ id: 1, name: 'Fern' });
    await page.getByRole('button', { name: 'Delete “Fern” (1)' }).click();
    await page.getByRole('button', { name: 'Add again' }).waitFor();
    await page.getByLabel('Name').fill('Private draft');
    await page.evaluate(`location.hash = '#token=${await scene.service.token('second', BOTH)}'`);
    await page.getByRole('button', { name: 'Sign in as second' }).click();
    await page.locator('.who-name').filter({ hasText: 'second' }).waitFor();
    await page.getByText('No plants yet.').waitFor();
    expect(await page.getByText('Fern').count()).toBe(0);
    expect(await page.getByLabel('Name').inputValue()).toBe('');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
  });

  test('one adds, sees what the service says of mistakes, deletes, and adds again, by keyboard alone', async () => {
    await using opened = await open('gardener');
    const { page } = opened;
    await page.getByLabel('Id').focus();
    await page.keyboard.type('9007199254740993');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Oak');
    await page.keyboard.press('Tab');
    await page.keyboard.type('balcony');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'Added “Oak” (9007199254740993).' }).waitFor();
    await rowOf(page, 'Oak').getByText('9007199254740993', { exact: true }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.labels?.[0].textContent')).toBe('Id');

    await page.keyboard.type('9007199254740993');
    await page.keyboard.press('Enter');
    await page
      .getByText('a plant with id 9007199254740993 already exists; delete it first, or use another id')
      .waitFor();
    await page.getByLabel('Id').fill('seven');
    await page.keyboard.press('Enter');
    await page.getByText('id must be an integer from -9223372036854775808 to 9223372036854775807').waitFor();
    await page.getByLabel('Id').fill('');
    await page.keyboard.press('Enter');
    await page.getByText('id is missing', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Delete “Oak” (9007199254740993)' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('No plants yet.').waitFor();
    await page.getByRole('button', { name: 'Add again' }).click();
    await rowOf(page, 'Oak').getByText('balcony').waitFor();
  });

  test('what another client does is there by itself', async () => {
    await using opened = await open('watcher');
    const { page, client } = opened;
    await page.getByText('No plants yet.').waitFor();
    await client.add({ id: 2, name: 'Fern' });
    await client.add({ id: -1, name: 'Moss', tag: '' });
    await rowOf(page, 'Fern').waitFor();
    const names = page.getByRole('table', { name: 'Plants' }).locator('td.name');
    await expect.poll(() => names.allTextContents()).toEqual(['Moss', 'Fern']);
    await client.delete(2);
    await rowOf(page, 'Fern').waitFor({ state: 'detached' });
  });

  test('of many plants only those that can be seen are on the page, and each can be found', async () => {
    await using opened = await open('collector');
    const { page, client } = opened;
    const plants = Array.from({ length: 400 }, (_, index) => ({ id: index, name: `Plant number ${index}` }));
    for (const plant of plants) await client.add(plant);
    await page.getByText('400 plants').waitFor();
    const rows = page.getByRole('table', { name: 'Plants' }).locator('tbody tr');
    expect(await rows.count()).toBeLessThan(60);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await rowOf(page, 'Plant number 399').waitFor();
    expect(await rows.count()).toBeLessThan(60);
    expect(await page.getByRole('table', { name: 'Plants' }).getAttribute('aria-rowcount')).toBe('401');
    await page.getByLabel('Find').fill('number 377');
    await page.getByText('1 plant of 400').waitFor();
  });

  test('what a token may not do is not offered, and not asked for', async () => {
    const reader = await open('reader', 'plants:read');
    await reader.page.getByText('To add and delete, a token needs plants:write.').waitFor();
    await reader.client.add({ id: 1, name: 'Fern' }).catch(() => {});
    expect(await reader.page.getByRole('button', { name: /^(Add|Delete)/ }).count()).toBe(0);
    for (const pane of ['Log', 'History', 'Time', 'Instance']) {
      await reader.page.getByRole('link', { name: pane, exact: true }).click();
      await reader.page.getByRole('heading', { name: 'This pane needs plants:audit' }).waitFor();
    }

    const auditor = await open('auditor', 'plants:audit');
    await auditor.page.getByRole('heading', { name: 'This pane needs plants:read' }).waitFor();
  });

  test('when the token ends it says so, and goes on with another one', async () => {
    const { mintToken } = await openDevelopmentIssuer(scene.service.dataDirectory);
    // The service accepts it for half a minute more.
    const token = await mintToken({ owner: 'late', ownerClaim: 'sub', ttl: -15, scope: BOTH });
    const client = new PlantStore({ url: scene.service.url, token: await scene.service.token('late', BOTH) });
    await client.add({ id: 1, name: 'Early fern' });
    await using opened = await openConsole(scene, { token });
    const { page } = opened;
    await rowOf(page, 'Early fern').waitFor();
    await page.getByRole('alert').filter({ hasText: 'the token has expired' }).waitFor();
    expect(await rowOf(page, 'Early fern').count()).toBe(1);
    expect(await page.getByRole('button', { name: 'Delete “Early fern” (1)' }).isDisabled()).toBe(true);
    await page.getByLabel('Token').fill(await scene.service.token('late', BOTH));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('the token has expired').waitFor({ state: 'detached' });
    await client.add({ id: 2, name: 'Late fern' });
    await rowOf(page, 'Late fern').waitFor();
  });
});

describe.skipIf(CHROMIUM === undefined)('a service that dies or hangs under the console', () => {
  test('it says that it sees nothing new, keeps what it has, and goes on by itself', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plantstore-'));
    const environment = { DATA_DIR: folder, PORT: String(await freePort()) };
    let service = await startService(environment);
    const browser = await openBrowser();
    try {
      const token = await service.token('alice', 'plants:audit');
      const client = new PlantStore({ url: service.url, token });
      await client.add({ id: 1, name: 'Fern' });
      await using plants = await openConsole({ service, browser }, { token });
      await using log = await openConsole({ service, browser }, { token, hash: '#/log' });
      await rowOf(plants.page, 'Fern').waitFor();
      await log.page.getByRole('link', { name: 'Event 1' }).waitFor();
      await using history = await openConsole({ service, browser }, { token, hash: '#/history?owner=alice&plant=1' });
      await history.page.getByText('alice added').waitFor();
      await service.kill();
      for (const { page } of [plants, log]) await page.getByText('The service cannot be reached.').first().waitFor();
      expect(await rowOf(plants.page, 'Fern').count()).toBe(1);
      await history.page.getByRole('button', { name: 'Show' }).click();
      await history.page.getByText('The history cannot be read.').waitFor();
      await history.page.locator('.banners').getByText('The service cannot be reached.').waitFor();
      service = await startService(environment);
      await client.add({ id: 2, name: 'Moss' });
      await rowOf(plants.page, 'Moss').waitFor();
      await log.page.getByRole('link', { name: 'Event 2' }).waitFor();
      await history.page.getByText('alice added').waitFor();
      // It hangs, and its connections stay open.
      process.kill(service.pid, 'SIGSTOP');
      try {
        for (const { page } of [plants, log]) await page.getByText('The service cannot be reached.').first().waitFor();
      } finally {
        process.kill(service.pid, 'SIGCONT');
      }
      await client.add({ id: 3, name: 'Ivy' });
      await rowOf(plants.page, 'Ivy').waitFor();
      await log.page.getByRole('link', { name: 'Event 3' }).waitFor();
      for (const { page } of [plants, log]) {
        await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' });
        await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
      }
    } finally {
      await browser.close();
      await service.stop();
      rmSync(folder, { recursive: true });
    }
  }, 180_000);
});
