import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PlantStore } from '../../../client/index.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { cosigner, noteSigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { createWitnessServer } from '../../../src/witness/server.ts';
import { Records, Witness } from '../../../src/witness/witness.ts';
import { client } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { CHROMIUM, openConsole, type Watched } from './browser.ts';
import { startScene } from './scene.ts';

const EVENTS = 300;
const AUDITOR = 'plants:read plants:write plants:audit';
const LOG_ORIGIN = 'log.example/plants';
const WITNESS = 'witness.example/one';
const [logKey, witnessKey] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey];
const witnessVkey = formatVerifierKey(cosigner(WITNESS, witnessKey).key);

const records = new Records(temporaryDirectory(afterAll), [LOG_ORIGIN]);
const witness = createWitnessServer(
  new Witness(cosigner(WITNESS, witnessKey), [noteSigner(LOG_ORIGIN, logKey).key], records, () => {}),
);
await once(witness.listen(0, '127.0.0.1'), 'listening');
afterAll(() => {
  witness.closeAllConnections();
  witness.close();
  records.close();
});

async function add(service: Service, owner: string, count: number, name = 'Fern'): Promise<void> {
  const store = new PlantStore({ url: service.url, token: await service.token(owner) });
  for (let id = 0; id < count; id++) await store.add({ id, name });
}

/** Resolves once a service serves a checkpoint of so many events. */
async function checkpointOf(service: Service, size: number): Promise<void> {
  for (let served = 0; served < size; await sleep(50))
    served = Number((await client(service.url)('GET', '/log/checkpoint')).text.split('\n')[1]);
}

async function receiptOf(service: Service, owner: string, position: number): Promise<string> {
  const headers = { authorization: `Bearer ${await service.token(owner)}` };
  const transport = createConnectTransport({ baseUrl: service.url, httpVersion: '1.1' });
  const { receipt } = await createClient(PlantStoreService, transport).getReceipt(
    { position: BigInt(position) },
    { headers },
  );
  return receipt;
}

describe.skipIf(CHROMIUM === undefined)('the pane Proof', () => {
  const scene = startScene({
    AUDIT_SIGNING_KEY: logKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    LOG_ORIGIN,
    WITNESSES: `http://127.0.0.1:${(witness.address() as AddressInfo).port}=${witnessVkey}`,
  });
  let watched: Watched;
  let page: Page;

  beforeAll(async () => {
    await add(scene.service, 'alice', EVENTS);
    await checkpointOf(scene.service, EVENTS);
  });
  beforeEach(async () => {
    watched = await openConsole(scene, { token: await scene.service.token('auditor', AUDITOR), hash: '#/proof' });
    page = watched.page;
    page.setDefaultTimeout(60_000);
  });
  afterEach(() => watched[Symbol.asyncDispose]());

  const verify = async (position: number): Promise<string> => {
    await forgetOutcome();
    await page.getByLabel('Position').fill(String(position));
    await page.getByRole('button', { name: 'Verify' }).click();
    return outcome(`The event at position ${position}.`);
  };
  const checkWholeLog = async (): Promise<string> => {
    await forgetOutcome();
    await page.getByRole('button', { name: 'Check the whole log' }).click();
    return outcome('The whole log.');
  };
  /** So that the outcome of another act is not taken for that of the next. */
  const forgetOutcome = (): Promise<void> =>
    page.locator('.proven').evaluateAll((elements) => {
      for (const element of elements) element.className = 'old';
    });
  /** What the live region says in the end. */
  const outcome = async (subject: string): Promise<string> => {
    const shown = page.locator('.proven');
    await shown
      .getByRole('status')
      .locator('p')
      .filter({ hasText: /^(Not verified|Verified) / })
      .filter({ hasText: subject })
      .waitFor();
    return (await shown.textContent())!;
  };
  const choose = async (name: string, text: string): Promise<string> => {
    const file = { name, mimeType: 'text/plain', buffer: Buffer.from(text) };
    await page.getByLabel('Receipt', { exact: true }).setInputFiles(file);
    return outcome(`The receipt ${name}.`);
  };

  test('verifies an event with what it says, and says what it did not check', async () => {
    const text = await verify(17);
    expect(text).toMatch(/^Verified The event at position 17\./);
    expect(text).toMatch(/Owner\s*alice/);
    expect(text).toMatch(/Name\s*Fern/);
    expect(text).toContain('its hash leads up to the root of the checkpoint');
    expect(text).toContain('this browser sees it for the first time, and trusts it from now on');
    expect(text).toContain('no witness that you trust has cosigned it');
    expect(page.url()).toContain('#/proof?position=17');
    const again = await verify(EVENTS);
    expect(again).toMatch(/^Verified/);
    expect(again).toContain(`The log is still the ${EVENTS} events that this browser saw on`);
    await page
      .getByRole('listitem')
      .filter({ hasText: 'log.example/plants' })
      .getByText(`${EVENTS} events, seen at`)
      .waitFor();
  });

  test('verifies for an owner, for another owner, and for nobody in particular, what each may see', async () => {
    for (const [owner, said] of [
      ['alice', /Name\s*Fern/],
      ['bob', /it is not one of yours\. That needs a token with the scope plants:audit/],
    ] as const) {
      await page.evaluate(() => sessionStorage.clear());
      await page.goto('about:blank');
      await page.goto(`${scene.service.url}/console#token=${await scene.service.token(owner)}`);
      await page.goto(`${scene.service.url}/console#/proof`);
      const text = await verify(3);
      expect(text).toMatch(/^Verified/);
      expect(text).toMatch(said);
    }
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    expect(await outcome('The event at position 3.')).toMatch(/^Verified[\s\S]*that needs a token/);
  });

  // What else is not verified of an event, a tile or a log, test/full/unit/proof-log.test.ts shows.
  test('does not verify against a tile that is withheld', async () => {
    await page.route('**/log/tile/0/**', (route) => route.fulfill({ status: 404 }));
    expect(await verify(7)).toMatch(/^Not verified[\s\S]*The service withholds tile\/0\/00[01][\s\S]*it answers 404/);
  });

  test('does not verify a log of another key, until the user forgets the one before', async () => {
    expect(await verify(1)).toMatch(/^Verified/);
    await using other = await startService({ LOG_ORIGIN });
    await add(other, 'mallory', 1, 'Weed');
    await checkpointOf(other, 1);
    await page.route('**/*', async (route) => {
      const url = route.request().url().replace(scene.service.url, other.url);
      await route.fulfill({ response: await route.fetch({ url }) });
    });
    for (const act of [() => verify(1), checkWholeLog])
      expect(await act()).toMatch(/^Not verified[\s\S]*is not the one that this browser has trusted since/);
    // Who forgets the log trusts whatever comes next, and is told so.
    await page.getByRole('button', { name: 'Forget log.example/plants' }).click();
    expect(await verify(1)).toMatch(/^Verified[\s\S]*for the first time/);
  });

  test('reads the whole log', async () => {
    const text = await checkWholeLog();
    expect(text).toMatch(/^Verified The whole log\./);
    expect(text).toMatch(/the 300 events make the root of the checkpoint, none changed, missing or added/);
  });

  test('does not take damage to what it remembers for nothing', async () => {
    await page.evaluate(() => localStorage.setItem('plantstore.proof.logs', '[{"origin":'));
    expect(await verify(1)).toMatch(/^Not verified[\s\S]*is damaged/);
    await page.getByRole('button', { name: 'Forget everything' }).click();
    expect(await verify(1)).toMatch(/^Verified[\s\S]*for the first time/);
  });

  test('stops reading the whole log when it is cancelled', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/log/tile/entries/001**', async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/log/tile/entries/001'));
    const asked = page.waitForRequest('**/log/tile/entries/001**');
    await page.getByRole('button', { name: 'Check the whole log' }).click();
    await asked;
    await page.getByRole('button', { name: 'Cancel' }).click();
    await ended;
    await page.getByRole('button', { name: 'Check the whole log' }).waitFor();
    expect(await page.locator('.verdict, .loading').count()).toBe(0);
    release();
  });

  test('verifies a receipt without the service once the key is known', async () => {
    const receipt = await receiptOf(scene.service, 'alice', 3);
    expect(await verify(1)).toMatch(/^Verified/);
    await page.context().setOffline(true);
    const text = await choose('3.tlog-proof', receipt);
    expect(text).toMatch(/^Verified The receipt 3\.tlog-proof\./);
    expect(text).toMatch(/Owner\s*alice/);
    expect(text).toContain('the log still has the event today');
    const changed = receipt.replace(/extra (.{20})./, 'extra $1/');
    expect(await choose('changed.tlog-proof', changed)).toMatch(/^Not verified/);
    expect(await choose('letter.txt', 'Dear all')).toMatch(/^Not verified[\s\S]*This is not a receipt/);
    await page.context().setOffline(false);
  });

  test('verifies a receipt that is chosen, with the key that the service hands out, or that is given', async () => {
    const receipt = await receiptOf(scene.service, 'alice', 3);
    expect(await choose('r', receipt)).toMatch(/^Verified[\s\S]*for the first time/);
    const { text: vkey } = await client(scene.service.url)('GET', '/log/key');
    await page.getByText('With a key of your own').click();
    await page.getByLabel('Key', { exact: true }).fill(vkey.replace('log.example', 'log.exampl'));
    expect(await choose('s', receipt)).toMatch(/^Not verified[\s\S]*The key is not a valid vkey/);
  });

  test('shows what a witness says, once its key is given', async () => {
    const shown = page.locator('.proven');
    await verify(1);
    await shown.getByText(`Cosignatures in the name of ${WITNESS}: their keys are unknown here.`).waitFor();

    await page.getByLabel('Witness key').fill('nonsense');
    await page.getByRole('button', { name: 'Trust' }).click();
    await page.getByRole('alert').getByText('a vkey has the form').waitFor();
    await page.getByLabel('Witness key').fill(witnessVkey);
    await page.getByRole('button', { name: 'Trust' }).click();
    await page.getByRole('button', { name: `Remove ${witnessVkey}` }).waitFor();

    await page.reload();
    await shown.getByText(`The witness ${WITNESS} cosigned the checkpoint at`).waitFor();
    expect(await shown.textContent()).toMatch(/^Verified/);
    await shown.getByText('The checkpoint, and who cosigned it').click();
    await shown.getByText('1 of the 1 witnesses that you trust cosigned it').waitFor();

    await page.route('**/log/checkpoint', async (route) => {
      const response = await route.fetch();
      const body = await response.body();
      // A character of the last line, which is the cosignature, is another.
      body[body.length - 13] = body[body.length - 13] === 0x41 ? 0x42 : 0x41;
      await route.fulfill({ response, body });
    });
    await page.reload();
    await shown.getByText(`The cosignature of the witness ${WITNESS} on the checkpoint is wrong.`).waitFor();
    expect(await shown.textContent()).toMatch(/^Not verified/);
  });
});
