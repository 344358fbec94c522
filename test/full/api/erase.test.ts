import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CallOptions, createClient } from '@connectrpc/connect';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { ErasureService } from '../../../gen/plantstore/v1/erasure_service_pb.ts';
import { tryLock } from '../../../src/files.ts';
import { headAt, seal, subjectOf } from '../../../src/log/event/chain.ts';
import { openLog } from '../../../src/log/log.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { parseTlogProof } from '../../../src/tlog/tlog-proof.ts';
import { AUDIT_KEY_FILE } from '../../../src/transparency/log-key.ts';
import { CHECKPOINT_FILE } from '../../../src/transparency/signed-checkpoint.ts';
import { command } from '../../support/command.ts';
import { added, append } from '../../support/events.ts';
import { callErrorOf, PROTOCOLS, TRANSPORTS } from '../../support/protocols.ts';
import { type Service, startService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const OWNER = 'Xaviera-Quux';
const [NAME, TAG, KEY] = ['Zantedeschia', 'moonlit-tag', 'quux-key-77'];
const WORDS = [OWNER, NAME, TAG, KEY];

const as = async (service: Service, owner: string, scope?: string): Promise<CallOptions> => ({
  headers: { authorization: `Bearer ${await service.token(owner, scope)}` },
});

/** Every byte of every file of a directory. */
const bytesOf = (directory: string): string =>
  readdirSync(directory)
    .map((file) => readFileSync(join(directory, file), 'latin1'))
    .join('\n');

/** All that a stream of messages says, as text. */
async function textOf(messages: AsyncIterable<unknown>): Promise<string> {
  const all: unknown[] = [];
  for await (const message of messages) all.push(message);
  return JSON.stringify(all, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}

async function erase(service: Service, open: (typeof TRANSPORTS)[number]['open'], owner: string, options: CallOptions) {
  let outcome: { position: bigint; events: bigint } | undefined;
  for await (const { step } of createClient(ErasureService, open(service)).eraseOwner({ owner }, options))
    if (step.case === 'outcome') outcome = { position: step.value.position, events: step.value.events };
  return outcome;
}

test('check-erasure says of contents that are not removed yet that they are being removed', async () => {
  const directory = temporaryDirectory(onTestFinished);
  const store = openSqlite(directory);
  const [plant] = await append(store, added(OWNER, 1n));
  const erases = { owner: OWNER, key: new Uint8Array(16), isCleared: false, isPublished: false };
  const event = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
  await store.append([{ ...seal(headAt(plant!), event, randomUUID(), plant!.time), erases }]);
  const check = ['audit', 'check-erasure', '--owner', OWNER, '--key', '00'.repeat(16)];
  const told = async () => (await command(check, { DATA_DIR: directory })).stdout;
  expect(await told()).toBe(`Position 2 erased "${OWNER}": the content of 1 event is being removed.\n`);
  for await (const _ of store.eraseContents(OWNER, 2));
  for await (const _ of store.clearErased([2]));
  expect(await told()).toBe(`Position 2 erased "${OWNER}": the content of 1 event is gone.\n`);
  await store.close();
});

test('a receipt that waits for another process to sign has nothing of an owner who is erased meanwhile', async () => {
  const directory = temporaryDirectory(onTestFinished);
  const log = await openLog(openSqlite(directory), { onFault: () => {} });
  await log.submit({ type: 'AddPlant', owner: OWNER, actor: OWNER, plant: { id: 1n, name: NAME } });
  const unlock = tryLock(join(directory, `${CHECKPOINT_FILE}.lock`))!;
  const receipt = command(['audit', 'receipt', '1'], { DATA_DIR: directory });
  // It has opened the key, and waits for the lock.
  await vi.waitFor(() => expect(existsSync(join(directory, AUDIT_KEY_FILE))).toBe(true), { timeout: 10_000 });
  for await (const _ of log.erase({ owner: OWNER, actor: 'operator' }));
  unlock();
  const { code, stdout } = await receipt;
  expect(code).toBe(0);
  const record = Buffer.from(parseTlogProof(stdout).extra!).toString('latin1');
  for (const word of [OWNER, NAME]) expect([word, record.includes(word)]).toEqual([word, false]);
  await log.close();
});

/** Adds and deletes plants of the owner over REST, with a key. */
async function fill(service: Service): Promise<void> {
  const authorization = `Bearer ${await service.token(OWNER)}`;
  const other = PROTOCOLS[0]!.client(service, `Bearer ${await service.token('alice')}`);
  for (let id = 1n; id <= 5n; id++) {
    const own = PROTOCOLS[0]!.client(service, authorization, { 'idempotency-key': `"${KEY}-${id}"` });
    await own.create(id, `${NAME} ${id}`, TAG);
    await other.create(id, 'Fern');
  }
  await PROTOCOLS[0]!.client(service, authorization).delete(2n);
}

test('of an owner who is erased, nothing is left in any file, answer, metric or line of the log', async () => {
  const directory = temporaryDirectory(onTestFinished);
  const service = await startService({ DATA_DIR: directory });
  await fill(service);
  const list = PROTOCOLS[0]!.client(service, `Bearer ${await service.token(OWNER)}`);
  expect((await list.list()).plants).toHaveLength(4);
  for (const word of WORDS) expect([word, bytesOf(directory).includes(word)]).toEqual([word, true]);
  const key = await command(['audit', 'key'], { DATA_DIR: directory });
  const receipt = await command(['audit', 'receipt', '1'], { DATA_DIR: directory });
  const checkpoint = await command(['audit', 'checkpoint'], { DATA_DIR: directory });

  const [{ open }] = TRANSPORTS.filter(({ name }) => name === 'gRPC') as [(typeof TRANSPORTS)[number]];
  const nobody = erase(service, open, OWNER, await as(service, 'operator', 'plants:read plants:write plants:audit'));
  expect(await nobody.catch(callErrorOf)).toMatchObject({ code: 7, reason: 'INSUFFICIENT_SCOPE' });
  const eraser = await as(service, 'operator', 'plants:erase');
  expect(await erase(service, open, ' ', eraser).catch(callErrorOf)).toMatchObject({ field: 'owner' });
  expect(await erase(service, open, OWNER, eraser)).toEqual({ position: 12n, events: 6n });
  for (const transport of TRANSPORTS)
    expect(await erase(service, transport.open, OWNER, eraser)).toEqual({ position: 0n, events: 0n });

  // A token of the owner that is looked at would be remembered, with the name: lists of others only, till the end.
  const audit = createClient(AuditService, open(service));
  const auditor = await as(service, 'auditor', 'plants:audit');
  const answers = [
    await textOf(audit.readEvents({}, auditor)),
    await textOf(audit.listPlantsAsOf({ asOf: { case: 'position', value: 9n } }, auditor)),
    await textOf(audit.getHistory({ owner: OWNER, plantId: 1n }, auditor)),
    (await command(['audit', 'export'], { DATA_DIR: directory })).stdout,
    (await command(['audit', 'export', '--public'], { DATA_DIR: directory })).stdout,
    (await command(['audit', 'list', '--as-of', '9'], { DATA_DIR: directory })).stdout,
    await (await fetch(`${service.adminUrl}/metrics`)).text(),
    JSON.stringify(service.logs) + service.output,
    bytesOf(directory),
  ];
  for (const [index, answer] of answers.entries())
    for (const word of WORDS) expect([index, word, answer.includes(word)]).toEqual([index, word, false]);
  expect(service.logs).toContainEqual(expect.objectContaining({ position: 12, events: 6 }));

  // What was signed and given before the erasure holds after it.
  const kept = (name: string, content: string) => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const vkey = key.stdout.trim();
  const signed = kept('signed.checkpoint', checkpoint.stdout);
  const verified = await command(['audit', 'verify', '--checkpoint', signed, '--key', vkey], {
    DATA_DIR: directory,
  });
  expect(verified).toMatchObject({ code: 0 });
  const shown = await command(['audit', 'check-receipt', kept('1.tlog-proof', receipt.stdout), '--key', vkey], {});
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining(OWNER) });
  expect((await list.list()).plants).toEqual([]);
  await PROTOCOLS[0]!.client(service, `Bearer ${await service.token(OWNER)}`).create(1n, 'anew');
  expect((await list.list()).plants).toHaveLength(1);
  await service.stop();
});

test('plantstore erase: beside a service it refuses; once it is stopped it erases, and again does nothing', async () => {
  const directory = temporaryDirectory(onTestFinished);
  const service = await startService({ DATA_DIR: directory });
  await fill(service);
  const run = () => command(['erase', '--owner', OWNER], { DATA_DIR: directory });
  expect(await run()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/another process of plantstore uses.*call ErasureService there/),
  });
  await service.stop();
  const done = await run();
  const { subjectKey, ...outcome } = JSON.parse(done.stdout);
  expect(done).toMatchObject({ code: 0, stderr: `OwnerErased is at position 12, subjectKey ${subjectKey}\n` });
  const again = await command(['erase', '--owner', OWNER, '--key', subjectKey], { DATA_DIR: directory });
  expect(again).toEqual({ code: 0, stdout: done.stdout, stderr: '' });
  expect(outcome).toEqual({ position: 12, events: 6 });
  const check = ['audit', 'check-erasure', '--owner', OWNER, '--key', subjectKey];
  expect(await command(check, { DATA_DIR: directory })).toEqual({
    code: 0,
    stdout: `Position 12 erased "${OWNER}": the content of 6 events is gone.\n`,
    stderr: '',
  });
  const other = await command([...check.slice(0, 3), 'bob', ...check.slice(4)], { DATA_DIR: directory });
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('no event erased "bob" with this key') });
  expect(await run()).toEqual({
    code: 0,
    stdout: '{"events":0}\n',
    stderr: `nothing to erase: "${OWNER}" has no events with content\n`,
  });
  for (const word of WORDS) expect([word, bytesOf(directory).includes(word)]).toEqual([word, false]);
  const missing = await command(['erase', '--owner', OWNER], { DATA_DIR: join(directory, 'none') });
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no plant store') });
  // Such an actor would be a flaw of the log for ever.
  for (const wrong of [
    ['--owner', ' '],
    ['--owner', 'bob', '--actor', ''],
    ['--owner', 'bob', '--actor', 'a\nb'],
  ])
    expect(await command(['erase', ...wrong], { DATA_DIR: directory })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('must not be blank'),
    });
});
