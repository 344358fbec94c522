import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect, onTestFinished, test } from 'vitest';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../../gen/plantstore/v1/plant_store_service_pb.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { EMPTY_ROOT } from '../../../src/tlog/hash.ts';
import { openSqliteDatabase } from '../../store/sqlite-database.ts';
import { command } from '../../support/command.ts';
import { fill } from '../../support/fill.ts';
import { client, expectError } from '../../support/http.ts';
import { startLocalService } from '../../support/local-service.ts';
import { reasonOf, TRANSPORTS } from '../../support/protocols.ts';
import type { RunningService } from '../../support/running-service.ts';
import { storeState } from '../../support/store-state.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const TOLD = "the log's checkpoints are not signed";

/** What the service says of its store: to a load balancer, and in metrics. */
const state = (service: RunningService) => storeState(service, { signing: 'signing_stopped', log: 'log_broken' });

const well = { status: 200, store: { name: 'store', ready: true }, signing: '0', log: '0' };

const degraded = (detail: string) => ({
  ...well,
  store: { name: 'store', ready: true, degraded: true, detail },
  signing: '1',
});

function directory(): string {
  return temporaryDirectory(onTestFinished);
}

const sizeOf = (note: string): number => Number(note.split('\n')[1]);

/** The size of the checkpoint that a service serves, once it is so large. */
async function signs(service: RunningService, size: number): Promise<void> {
  const send = client(service.url);
  await expect.poll(async () => sizeOf((await send('GET', '/log/checkpoint')).text)).toBe(size);
}

/** Expects that nothing is signed, for this reason, and that plants are served as ever. */
async function expectStopped(service: RunningService, detail: string, id: number): Promise<void> {
  const alice = client(service.url, await service.token('alice'));
  await expect.poll(() => state(service)).toEqual(degraded(detail));
  for (const path of ['checkpoint', 'proof/300']) expectError(await alice('GET', `/log/${path}`), 503, 14);
  const headers = { authorization: `Bearer ${await service.token('alice')}` };
  const receipt = createClient(PlantStoreService, TRANSPORTS[0]!.open(service)).getReceipt(
    { position: 300n },
    { headers },
  );
  expect(await reasonOf(receipt)).toBe('STORE_UNAVAILABLE');
  // Nothing is proved, and all can be read.
  const auditor = { authorization: `Bearer ${await service.token('auditor', 'plants:audit')}` };
  const { head, checkpoint } = await createClient(AuditService, TRANSPORTS[0]!.open(service)).getHead(
    {},
    { headers: auditor },
  );
  expect(Number(head?.position)).toBeGreaterThan(0);
  expect(checkpoint).toBe('');
  expect((await alice('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status).toBe(200);
  expect(JSON.parse((await alice('GET', '/plants?limit=2')).text)).toHaveLength(2);
}

const CHANGED =
  'the log of 1100 events does not extend the signed checkpoint of 1100: run plantstore audit verify; if only tree says no, run plantstore audit rebuild; if an older backup was restored, follow "After a restore that was signed or witnessed beyond" in docs/operations.md';

// What each store says of nodes that are lost or cut short, test/store/tree.ts shows.
test('with a node that was changed nothing is signed until a repair, which the instance notices by itself', async () => {
  const DATA_DIR = directory();
  const environment = { DATA_DIR };
  const store = openSqlite(DATA_DIR);
  await fill(store, 1_100, 'alice');
  await store.close();
  const before = await startLocalService(environment);
  await signs(before, 1_100);
  await before.stop();
  const database = openSqliteDatabase(DATA_DIR);
  await database.putNode(1, EMPTY_ROOT);
  await database.close();

  await using service = await startLocalService(environment);
  // Nobody has asked for anything.
  await expect.poll(() => state(service)).toEqual(degraded(CHANGED));
  const [PORT, ADMIN_PORT] = [new URL(service.url).port, new URL(service.adminUrl).port];
  const doctor = await command(['doctor'], { ...environment, PORT, ADMIN_PORT });
  expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining(`it runs, but store: ${CHANGED}`) });
  expect(await command(['audit', 'verify'], environment)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^chain +yes[\s\S]*^tree +NO /m),
  });
  const alice = client(service.url, await service.token('alice'));
  for (const path of ['checkpoint', 'proof/300', 'tile/0/001', 'tile/entries/001']) {
    const reply = await alice('GET', `/log/${path}`);
    expect([path, expectError(reply, 503, 14)]).toEqual([
      path,
      'the stored log differs from what was signed, so no proof is possible; tell the operator',
    ]);
    expect(reply.headers['cache-control']).toBe('no-store');
  }
  const untouched = await alice('GET', '/log/tile/entries/000');
  expect([untouched.status, untouched.headers['cache-control']]).toEqual([200, 'public, max-age=5']);
  // Each of the first two has looked again.
  expect(service.logs.filter(({ msg }) => msg === TOLD)).toMatchObject([{ level: 'error', err: { message: CHANGED } }]);

  expect(await command(['audit', 'rebuild'], environment)).toMatchObject({
    code: 0,
    stdout: '{"checkpoint":1100}\n',
  });
  await expect.poll(() => state(service)).toEqual(well);
  for (const path of ['checkpoint', 'proof/300', 'tile/0/001', 'tile/1/000.p/4'])
    expect([path, (await alice('GET', `/log/${path}`)).status]).toEqual([path, 200]);
  const mended = await alice('GET', '/log/tile/entries/000');
  expect(mended.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  await service.logged(({ msg, level }) => msg === "the log's checkpoints are signed again" && level === 'info');
  expect((await alice('POST', '/plants', { body: '{"id":7000,"name":"Fern"}' })).status).toBe(200);
  await signs(service, 1_101);
  expect(await command(['audit', 'verify'], environment)).toMatchObject({ code: 0 });
}, 120_000);

test.each([
  [
    'a key that is damaged',
    'audit-key.pem',
    (path: string) => writeFileSync(path, 'junk', { mode: 0o600 }),
    'the signing key cannot be used: audit-key.pem is damaged: it is not an Ed25519 private key; restore it, or delete it to generate a new key (existing checkpoints and receipts still need the old vkey)',
  ],
])('%s stops the signing, is told once, and is told of when it is over', async (_, name, damage, why) => {
  const DATA_DIR = directory();
  const store = openSqlite(DATA_DIR);
  await fill(store, 300, 'alice');
  await store.close();
  const before = await startLocalService({ DATA_DIR });
  await signs(before, 300);
  await before.stop();
  const path = join(DATA_DIR, name);
  renameSync(path, `${path}.whole`);
  damage(path);

  await using service = await startLocalService({ DATA_DIR });
  const message = why.replace(name, path);
  await expectStopped(service, message, 2_000);
  expect(expectError(await client(service.url)('GET', '/log/checkpoint'), 503, 14)).toBe(
    'this instance can sign no checkpoint now, because a file that it needs for that cannot be used; tell the operator',
  );
  expect(await command(['audit', 'checkpoint'], { DATA_DIR })).toMatchObject({
    code: 1,
    stderr: `plantstore: ${message}\n`,
  });
  rmSync(path, { recursive: true });
  renameSync(`${path}.whole`, path);
  await expect.poll(() => state(service)).toEqual(well);
  await signs(service, 301);
  expect(service.logs.filter(({ msg }) => msg === TOLD)).toMatchObject([
    { level: 'error', err: { message: expect.stringContaining(message) } },
  ]);
});

/** A data directory whose log had 300 events at its backup, was signed with so many more, and was restored then. */
async function restored(more: number): Promise<string> {
  const DATA_DIR = directory();
  const database = join(DATA_DIR, 'plantstore.sqlite');
  const store = openSqlite(DATA_DIR);
  await fill(store, 300, 'alice');
  await store.close();
  cpSync(database, `${database}.backup`);
  const before = await startLocalService({ DATA_DIR });
  const send = client(before.url, await before.token('alice'));
  for (let id = 1_000; id < 1_000 + more; id++)
    expect((await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status).toBe(200);
  await signs(before, 300 + more);
  await before.stop();
  for (const end of ['-wal', '-shm']) rmSync(`${database}${end}`, { force: true });
  cpSync(`${database}.backup`, database);
  return DATA_DIR;
}

test('of a database that is older than what was signed nothing is signed, also when it has grown beyond it', async () => {
  const DATA_DIR = await restored(5);
  const remedy =
    'if an older backup was restored, follow "After a restore that was signed or witnessed beyond" in docs/operations.md';
  const shorter = await startLocalService({ DATA_DIR });
  await expectStopped(shorter, `a checkpoint of 305 events was signed, and the log has 300: ${remedy}`, 2_000);
  const again = client(shorter.url, await shorter.token('alice'));
  for (let id = 2_001; id < 2_010; id++)
    expect((await again('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` })).status).toBe(200);
  // Readiness says how it stands now. The log has said it.
  await expect
    .poll(async () => {
      expectError(await again('GET', '/log/checkpoint'), 503, 14);
      return state(shorter);
    })
    .toMatchObject({ store: { detail: expect.stringContaining('the log of 310 events does not extend') } });
  await shorter.stop();
  expect(shorter.logs.filter(({ msg }) => msg === TOLD)).toHaveLength(1);

  // Grown, it is another log, whoever starts it.
  await using grown = await startLocalService({ DATA_DIR });
  const why = 'the log of 310 events does not extend the signed checkpoint of 305';
  const advice = `run plantstore audit verify; if only tree says no, run plantstore audit rebuild; ${remedy}`;
  await expectStopped(grown, `${why}: ${advice}`, 3_000);
  // Nor do the commands sign it.
  for (const args of [['checkpoint'], ['receipt', '303']])
    expect(await command(['audit', ...args], { DATA_DIR })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('does not extend the signed checkpoint of 305'),
    });
  // What the advice asks for says why: every night, too.
  const verified = await command(['audit', 'verify'], { DATA_DIR });
  expect(verified.code).toBe(1);
  expect(verified.stdout.match(/^\w+ +NO.*/gm)).toEqual([
    expect.stringMatching(/^checkpoint +NO +at position 305: the events up to here differ/),
  ]);
  // No repair makes it the one that was signed.
  expect(await command(['audit', 'rebuild'], { DATA_DIR })).toMatchObject({ code: 0 });
  // Whoever asks has it look again.
  expectError(await client(grown.url)('GET', '/log/checkpoint'), 503, 14);
}, 120_000);

test('a log that got another name signs again', async () => {
  const DATA_DIR = await restored(1);
  await using service = await startLocalService({ DATA_DIR, LOG_ORIGIN: 'plants.example/restored' });
  await signs(service, 300);
  expect(await state(service)).toEqual(well);
  expect((await client(service.url)('GET', '/log/checkpoint')).text).toMatch(/^plants\.example\/restored\n300\n/);
  const settings = { DATA_DIR, LOG_ORIGIN: 'plants.example/restored' };
  const verified = await command(['audit', 'verify'], settings);
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/^checkpoint +yes$/m) });
}, 120_000);
