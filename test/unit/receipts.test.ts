import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GetReceiptRequestSchema } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { createScopePolicy } from '../../src/auth/principal.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { openLog } from '../../src/log/log.ts';
import { BrokenTreeError } from '../../src/log/tree/nodes.ts';
import { Tree } from '../../src/log/tree/tree.ts';
import { CannotSignError } from '../../src/log/unavailable.ts';
import { implementReceipts, type Receipts } from '../../src/plants/receipts.ts';
import { Semaphore } from '../../src/semaphore.ts';
import { LogCheckpoints } from '../../src/transparency/checkpoints.ts';
import { logSignerOnDemand } from '../../src/transparency/log-key.ts';
import { keptIn } from '../../src/transparency/signed-checkpoint.ts';
import { eraseWords } from '../store/erasure.ts';
import { openSqliteStore } from '../store/open-sqlite.ts';
import { added, append } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { fill } from '../support/fill.ts';
import { ALICE } from '../support/principal.ts';

const EVENTS = 600;

/** Receipts for as many callers at once as a semaphore lets. */
async function openReceipts(proofs: Semaphore): Promise<Receipts> {
  return (await openReceiptsOf(proofs)).receipts;
}

async function openReceiptsOf(proofs: Semaphore) {
  const { store, directory, cleanup } = await openSqliteStore();
  onTestFinished(cleanup);
  await fill(store, EVENTS, ALICE.owner);
  const tree = new Tree(store);
  const signer = logSignerOnDemand(
    { auditSigningKey: undefined, dataDirectory: directory, logOrigin: undefined },
    store,
  );
  const checkpoints = new LogCheckpoints({
    ...{ head: () => store.head(), tree, signer, kept: keptIn(join(directory, 'kept'), () => {}) },
    onFault: () => {},
  });
  const parts = { store, head: () => store.head(), tree, checkpoints, scopes: createScopePolicy([]), proofs };
  return { store, receipts: implementReceipts(parts) };
}

const asked = (position: number) => create(GetReceiptRequestSchema, { position: BigInt(position) });

test('of many receipts that are asked for at once, a turn of the event loop makes no more than there are permits', async () => {
  const receipts = await openReceipts(new Semaphore({ permits: 4, share: 2, maxWaiting: 256 }));
  let turn = 0;
  const next = () => {
    turn++;
    immediate = setImmediate(next);
  };
  let immediate = setImmediate(next);
  const made = new Map<number, number>();
  const make = async (position: number) => {
    await receipts.getReceipt(asked(position), { principal: ALICE, signal: { aborted: false } });
    made.set(turn, (made.get(turn) ?? 0) + 1);
  };
  await Promise.all(Array.from({ length: 40 }, (_, index) => make(index * 10 + 1)));
  clearImmediate(immediate);
  expect(Math.max(...made.values())).toBeLessThanOrEqual(2);
});

test('an owner who is erased while a call waits gets no receipt with what was erased', async () => {
  const proofs = new Semaphore({ permits: 1, maxWaiting: 256 });
  const { store, receipts } = await openReceiptsOf(proofs);
  const permit = await proofs.acquire('another');
  const receipt = receipts.getReceipt(asked(1), { principal: ALICE, signal: { aborted: false } });
  await expect.poll(() => proofs.waiting).toBe(1);
  const log = await openLog(override(store, { close: async () => {} }), { onFault: () => {} });
  await eraseWords(log, ALICE.owner);
  await log.close();
  permit[Symbol.dispose]();
  await expect(receipt).rejects.toMatchObject({ reason: 'EVENT_NOT_FOUND' });
});

test('a caller that left while it waited gets no receipt made', async () => {
  const receipts = await openReceipts(new Semaphore({ permits: 1, maxWaiting: 256 }));
  const all = [1, 2, 3, 4].map((position) =>
    receipts.getReceipt(asked(position), { principal: ALICE, signal: { aborted: position === 4 } }),
  );
  const outcomes = await Promise.allSettled(all);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
});

test('while no checkpoint can be signed, it is not tried for each who asks', async () => {
  let attempts = 0;
  const head = async () => {
    attempts++;
    throw new BrokenTreeError('a node is wrong');
  };
  const [signer, kept] = [async () => ({}) as never, { read: async () => undefined, replace: async () => undefined }];
  let forgotten = 0;
  const tree = { forget: () => forgotten++ } as never;
  const checkpoints = new LogCheckpoints({ head, tree, signer, kept, onFault: () => {} });
  for (let call = 0; call < 100; call++) await expect(checkpoints.latest()).rejects.toThrow('no proof is possible');
  expect([attempts, forgotten]).toEqual([1, 1]);
});

test('what a log remembers of its tree is covered once a checkpoint of it is signed, until a fault', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { store, directory, cleanup } = await openSqliteStore();
  onTestFinished(cleanup);
  await fill(store, EVENTS, ALICE.owner);
  const settings = { auditSigningKey: undefined, dataDirectory: directory, logOrigin: undefined };
  const parts = { head: () => store.head(), tree: new Tree(store), onFault: () => {} };
  const kept = keptIn(join(directory, 'kept'), () => {});
  const whole = logSignerOnDemand(settings, store);
  let signer = whole;
  const checkpoints = new LogCheckpoints({ ...parts, kept, signer: () => signer() });
  expect(await checkpoints.covers(EVENTS)).toBe(true);
  expect(await checkpoints.covers(EVENTS + 1)).toBe(false);
  signer = () => Promise.reject(new CannotSignError('the key is gone'));
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(checkpoints.latest()).rejects.toThrow();
  expect(await checkpoints.covers(EVENTS)).toBe(false);
  signer = whole;
  await vi.advanceTimersByTimeAsync(6_000);
  expect((await checkpoints.latest()).size).toBe(EVENTS);
  // It compared nothing, since the log has not grown.
  expect(await checkpoints.covers(EVENTS)).toBe(false);
  await append(store, added(ALICE.owner, BigInt(EVENTS)));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await checkpoints.covers(EVENTS + 1)).toBe(true);
});

test('while a fault stands it is tried again with nothing that is remembered, also after the store was away', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const answers = [new BrokenTreeError('a node is wrong'), new Error('away'), new Error('away')];
  const faults: (string | undefined)[] = [];
  let forgotten = 0;
  const head = async () => {
    const error = answers.shift();
    if (error !== undefined) throw error;
    return EMPTY_HEAD;
  };
  const { privateKey: auditSigningKey } = generateKeyPairSync('ed25519');
  const settings = { auditSigningKey, dataDirectory: '', logOrigin: 'log.example' };
  const checkpoints = new LogCheckpoints({
    ...{ head, signer: logSignerOnDemand(settings, {} as never), tree: { forget: () => forgotten++ } as never },
    kept: { read: async () => undefined, replace: async () => undefined },
    onFault: (fault) => faults.push(fault?.message),
  });
  await expect(checkpoints.latest()).rejects.toThrow();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(faults).toEqual([expect.stringContaining('a node is wrong'), undefined]);
  // Once for the fault, and once for each further attempt.
  expect(forgotten).toBe(4);
  await vi.advanceTimersByTimeAsync(1_000);
  await checkpoints.latest();
  expect(forgotten).toBe(4);
});

test('of a log that was replaced no level of the tree is told, although it is remembered', async () => {
  const { store, cleanup } = await openSqliteStore();
  onTestFinished(cleanup);
  await fill(store, EVENTS, ALICE.owner);
  const [changed, reason] = [new AbortController(), new Error('the log was replaced')];
  const tree = new Tree(store, changed.signal);
  for (const level of [0, 1]) expect(await tree.readTile({ level, index: 0, width: 2 })).toHaveLength(64);
  changed.abort(reason);
  for (const level of [0, 1]) await expect(tree.readTile({ level, index: 0, width: 2 })).rejects.toBe(reason);
});
