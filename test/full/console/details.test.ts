import { beforeAll, describe, expect, test } from 'vitest';
import { PlantStore } from '../../../client/index.ts';
import { openDevelopmentIssuer } from '../../../src/auth/development.ts';
import { CHROMIUM, openConsole } from './browser.ts';
import { startScene } from './scene.ts';

const PHONE = { viewport: { width: 375, height: 700 } };
const LONG = 'A fern whose name is much longer than any cell of a table on a phone';

describe.skipIf(CHROMIUM === undefined)('in the console', () => {
  const scene = startScene();
  let auditor: string;
  beforeAll(async () => {
    auditor = await scene.service.token('alice', 'plants:read plants:write plants:audit');
    await new PlantStore({ url: scene.service.url, token: auditor }).add({ id: -9223372036854775808n, name: LONG });
  });

  test('the verdict comes into sight on a phone, and has the focus', async () => {
    await using opened = await openConsole(scene, { token: auditor, hash: '#/proof', ...PHONE });
    const { page } = opened;
    await page.getByLabel('Position').fill('1');
    await page.getByRole('button', { name: 'Verify' }).click();
    const verdict = page.locator('.verdict');
    await verdict.filter({ hasText: 'Verified' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('verdict');
    const { y, height } = (await verdict.boundingBox())!;
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y + height).toBeLessThanOrEqual(PHONE.viewport.height);
  });

  test('a slip of the finger in Position is no verdict', async () => {
    await using opened = await openConsole(scene, { token: auditor, hash: '#/proof' });
    const { page } = opened;
    await page.getByLabel('Position').fill('1o');
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('alert').getByText('A position is a whole number').waitFor();
    expect(await page.locator('.verdict').count()).toBe(0);
    await page.getByLabel('Position').fill('999999');
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('so none at position 999999.', { exact: false }).waitFor();
    expect(await page.getByRole('alert').getByText('A position').count()).toBe(0);
    await page.getByLabel('Position').fill('0');
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('alert').getByText('A position is a whole number').waitFor();
    expect(await page.locator('.verdict').count()).toBe(0);
  });

  test('a token that was never accepted is not told to be so no longer, and nothing waits for input beside it', async () => {
    const wrong = `${auditor.slice(0, -8)}AAAAAAAA`;
    await using opened = await openConsole(scene, { token: wrong });
    const { page } = opened;
    await page.getByRole('alert').filter({ hasText: 'The service does not accept this token' }).waitFor();
    expect(await page.getByText('no longer').count()).toBe(0);
    expect(await page.getByText('0 plants').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Add' }).isDisabled()).toBe(true);
  });

  test('with a token that has expired, no pane says that it loads', async () => {
    const { mintToken } = await openDevelopmentIssuer(scene.service.dataDirectory);
    const scope = 'plants:read plants:audit';
    const expired = await mintToken({ owner: 'al', ownerClaim: 'sub', ttl: -60, scope });
    await using opened = await openConsole(scene, { token: expired });
    const { page } = opened;
    await page.getByText('the token has expired').first().waitFor();
    await page.getByText('--owner al ').waitFor();
    for (const pane of ['Plants', 'Log', 'Time', 'Instance']) {
      await page.getByRole('link', { name: pane, exact: true }).click();
      await page.getByRole('heading', { name: pane, exact: true }).waitFor();
      expect(await page.locator('main').textContent()).not.toContain('Loading');
    }
    const calls: string[] = [];
    page.on('request', (request) => calls.push(request.url()));
    await page.evaluate("location.hash = '#/proof?position=1'");
    await page.getByText('The content of the event: that needs a token').waitFor();
    expect(calls.filter((url) => url.endsWith('/ReadEvents'))).toEqual([]);
  });

  test('long texts stay in their rows, and on the page of a phone', async () => {
    const owner = 'o'.repeat(120);
    const token = await scene.service.token(owner, 'plants:read plants:write plants:audit');
    await new PlantStore({ url: scene.service.url, token }).add({
      id: -1234567890123456789n,
      name: LONG,
      tag: 't'.repeat(200),
    });
    await using opened = await openConsole(scene, { token, ...PHONE });
    const { page } = opened;
    for (const hash of ['#/plants', '#/log', '#/time', `#/history?owner=${owner}&plant=-1234567890123456789`]) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.getByText(LONG).last().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth'), hash).toBe(PHONE.viewport.width);
      const outside = await page.evaluate(`[...document.querySelectorAll('tbody tr:not(.space)')].flatMap((row) =>
        [...row.cells].filter((cell) => cell.getBoundingClientRect().bottom > row.getBoundingClientRect().bottom + 1)
          .map(({ className }) => className))`);
      expect(outside, hash).toEqual([]);
    }
  });

  test('a token that the service calls malformed is told to be so, and Stopped never stands alone', async () => {
    await using opened = await openConsole(scene, { token: auditor });
    const { page } = opened;
    await page.getByText(LONG).first().waitFor();
    const headers = { 'plantstore-reason': 'AUTHORIZATION_MALFORMED' };
    const body = '{"error":16,"message":"the Authorization header is malformed"}';
    await page.route('**/plants', (route) => route.fulfill({ status: 400, headers, body }));
    await page.reload();
    await page.getByRole('alert').filter({ hasText: 'the Authorization header is malformed' }).waitFor();
    expect(await page.getByText('Stopped').isVisible()).toBe(false);
  });

  test('Plants says why it is interrupted, and an undo that failed can be tried again', async () => {
    const token = await scene.service.token('undoer');
    await new PlantStore({ url: scene.service.url, token }).add({ id: 1, name: 'Fern' });
    await using opened = await openConsole(scene, { token });
    const { page } = opened;
    await page.getByRole('button', { name: 'Delete “Fern” (1)' }).click();
    const again = page.getByRole('button', { name: 'Add again' });
    await again.waitFor();
    const body = '{"error":8,"message":"there is no room"}';
    await page.route('**/plants', (route) => route.fulfill({ status: 409, body }));
    await again.click();
    await page.getByText('there is no room').waitFor();
    await page.unroute('**/plants');
    await again.click();
    await page.getByRole('button', { name: 'Delete “Fern” (1)' }).waitFor();
    expect(await page.evaluate('document.activeElement.className')).toBe('bar');
    await page.route('**/plants', (route) => route.fulfill({ status: 409, body }));
    await page.reload();
    await page.getByText('Interrupted: there is no room').waitFor();
  });

  test('a long text can be read whole, and a locked pane says what it needs', async () => {
    const reader = await scene.service.token('alice', 'plants:read');
    await using opened = await openConsole(scene, { token: reader, ...PHONE });
    const { page } = opened;
    const name = page.getByRole('button', { name: LONG, exact: true });
    expect(await name.getAttribute('title')).toBe(LONG);
    const isCut = 'document.querySelector(".name .cut").scrollWidth > document.querySelector(".name .cut").clientWidth';
    expect(await page.evaluate(isCut)).toBe(true);
    await name.click();
    expect(await page.evaluate(isCut)).toBe(false);
    const id = page.getByRole('button', { name: '-9223372036854775808', exact: true });
    expect(await id.getAttribute('title')).toBe('-9223372036854775808');
    const log = page.getByRole('link', { name: 'Log', exact: true });
    expect(await log.getAttribute('title')).toBe('needs plants:audit');
  });

  test('who is not signed in reads what a pane needs, and no scope that the service does not require', async () => {
    await using opened = await openConsole(scene);
    const needs = (name: string) => opened.page.getByRole('link', { name, exact: true }).getAttribute('title');
    await opened.page.getByLabel('Token').waitFor();
    expect([await needs('Plants'), await needs('Log')]).toEqual(['needs a token', 'needs plants:audit']);
  });

  test('Proof is as wide as the other panes', async () => {
    await using opened = await openConsole(scene, { token: auditor, hash: '#/proof' });
    const edgeOf = async (selector: string) => {
      const { x, width } = (await opened.page.locator(selector).first().boundingBox())!;
      return x + width;
    };
    await opened.page.locator('.acts').waitFor();
    const edge = await edgeOf('.acts');
    await opened.page.getByRole('link', { name: 'Log', exact: true }).click();
    await opened.page.getByRole('table').waitFor();
    expect(edge).toBe(await edgeOf('table'));
  });

  test('a plant of another time is a target for a finger', async () => {
    await using opened = await openConsole(scene, { token: auditor, hash: '#/time', ...PHONE });
    const row = opened.page.getByRole('table', { name: 'Plants then' }).getByRole('row').nth(1);
    await row.waitFor();
    const { width, height } = (await row.boundingBox())!;
    await row.click({ position: { x: width - 10, y: height - 10 } });
    await opened.page.getByText('added “').waitFor();
  });
});
