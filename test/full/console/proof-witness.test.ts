import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { cosignatureKey, cosigner } from '../../../src/tlog/signer.ts';
import { formatVerifierKey, parseVerifierKey } from '../../../src/tlog/verifier-key.ts';
import { openLogKey } from '../../../src/transparency/log-key.ts';
import { createWitnessServer } from '../../../src/witness/server.ts';
import { Records, Witness } from '../../../src/witness/witness.ts';
import { client } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { CHROMIUM, openBrowser, openConsole } from './browser.ts';

const NAME = 'witness.example/one';

describe.skipIf(CHROMIUM === undefined)('a log with a witness', () => {
  const root = mkdtempSync(join(tmpdir(), 'plantstore-console-'));
  let records: Records;
  let witness: Server;
  let vkey: string;
  let service: Service;
  let browser: Browser;

  beforeAll(async () => {
    const dataDirectory = join(root, 'data');
    const store = openSqlite(dataDirectory);
    const log = await openLogKey({ auditSigningKey: undefined, dataDirectory, logOrigin: undefined }, store);
    await store.close();
    const known = parseVerifierKey(log.vkey);
    const { privateKey } = generateKeyPairSync('ed25519');
    vkey = formatVerifierKey(cosignatureKey(NAME, privateKey));
    records = new Records(join(root, 'witness'), [known.name]);
    witness = createWitnessServer(new Witness(cosigner(NAME, privateKey), [known], records, () => {}));
    witness.listen(0, '127.0.0.1');
    await once(witness, 'listening');
    const url = `http://127.0.0.1:${(witness.address() as AddressInfo).port}`;
    service = await startService({ DATA_DIR: dataDirectory, WITNESSES: `${url}=${vkey}` });
    const send = client(service.url, await service.token('alice'));
    expect((await send('POST', '/plants', { body: '{"id":1,"name":"Fern"}' })).status).toBe(200);
    for (let size = 0; size < 1; await sleep(50))
      size = Number((await send('GET', '/log/checkpoint')).text.split('\n')[1] ?? 0);
    browser = await openBrowser();
  });

  afterAll(async () => {
    await browser.close();
    await service.stop();
    witness.closeAllConnections();
    witness.close();
    records.close();
    rmSync(root, { recursive: true });
  });

  test('is shown with what the witness says, once its key is given', async () => {
    await using opened = await openConsole(browser, service.url, { hash: '#/proof?position=1' });
    const { page, offences } = opened;
    page.setDefaultTimeout(60_000);
    const shown = page.locator('.proven');
    await shown.getByText(`Cosignatures in the name of ${NAME}: their keys are unknown here.`).waitFor();

    await page.getByLabel('Witness key').fill('nonsense');
    await page.getByRole('button', { name: 'Trust' }).click();
    await page.getByRole('alert').getByText('a vkey has the form').waitFor();
    await page.getByLabel('Witness key').fill(vkey);
    await page.getByRole('button', { name: 'Trust' }).click();
    await page.getByRole('button', { name: `Remove ${vkey}` }).waitFor();

    await page.reload();
    await shown.getByText(`The witness ${NAME} cosigned the checkpoint at`).waitFor();
    expect(await shown.textContent()).toMatch(/^Verified/);
    await shown.getByText('The checkpoint, and who cosigned it').click();
    await shown.getByText('1 of the 1 witnesses that you trust cosigned it').waitFor();

    // A cosignature that somebody changed.
    await page.route('**/log/checkpoint', async (route) => {
      const note = await (await route.fetch()).text();
      const lines = note.trimEnd().split('\n');
      const last = lines.pop()!;
      const changed = `${last.slice(0, -12)}${last.at(-12) === 'A' ? 'B' : 'A'}${last.slice(-11)}`;
      await route.fulfill({ body: `${[...lines, changed].join('\n')}\n` });
    });
    await page.reload();
    await shown.getByText(`The cosignature of the witness ${NAME} on the checkpoint is wrong.`).waitFor();
    expect(await shown.textContent()).toMatch(/^Not verified/);
    expect(offences).toEqual([]);
  });
});
