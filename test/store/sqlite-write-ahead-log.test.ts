import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DATABASE_FILE, openSqlite } from '../../src/log/sqlite/store.ts';
import type { Snapshot, Store } from '../../src/log/store.ts';
import { added, append, project } from '../support/events.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** More than a write-ahead log may have while snapshots are open. */
const TOO_LONG = 257 * 1024 * 1024;

/** A store as a service has it, with one plant of alice, and the path of its write-ahead log. */
async function opened(): Promise<{ store: Store; directory: string; log: string }> {
  const directory = temporaryDirectory(onTestFinished);
  const store = openSqlite(directory, { alone: true });
  onTestFinished(async () => {
    await store.close();
  });
  await append(store, added('alice', 1n));
  await project(store);
  return { store, directory, log: join(directory, `${DATABASE_FILE}-wal`) };
}

const plantsOf = (snapshot: Snapshot) => snapshot.list('alice', undefined)[Symbol.asyncIterator]().next();

const ENDED = { name: 'SnapshotEndedError', reason: 'STORE_UNAVAILABLE' };

test('a command that opens the store beside a service leaves the write-ahead log alone, and waits for no reader', async () => {
  const { store, directory, log } = await opened();
  const snapshot = await store.snapshot();
  await append(store, added('alice', 2n));
  const before = statSync(log).size;
  expect(before).toBeGreaterThan(0);
  await openSqlite(directory, { timeout: 60_000 }).close();
  await snapshot.close();
  await openSqlite(directory, { timeout: 60_000 }).close();
  expect(statSync(log).size).toBe(before);
  await openSqlite(directory, { alone: true, timeout: 60_000 }).close();
  expect(statSync(log).size).toBe(0);
});

test('snapshots that let the write-ahead log grow too long are ended, and the next one begins without them', async () => {
  const { store, log } = await opened();
  const earlier = [await store.snapshot(), await store.snapshot()];
  await append(store, added('alice', 2n));
  truncateSync(log, TOO_LONG);
  await project(store);
  // A second one that is asked for meanwhile would overlap with the first, and so on for ever.
  await store.waitBeforeLongRead();
  const next = await store.snapshot();
  expect(statSync(log).size).toBe(0);
  for (const snapshot of earlier) await expect(plantsOf(snapshot)).rejects.toMatchObject(ENDED);
  expect((await plantsOf(next)).value).toHaveLength(2);
});

test('a write-ahead log of any length ends no snapshot that another reader would have it keep', async () => {
  const { store, directory, log } = await opened();
  const backup = openSqlite(directory, { readOnly: true });
  const held = await backup.snapshot();
  await append(store, added('alice', 2n));
  const first = await store.snapshot();
  truncateSync(log, TOO_LONG);
  await project(store);
  // It waits until the attempt is given up.
  await store.waitBeforeLongRead();
  const second = await store.snapshot();
  await expect(plantsOf(first)).rejects.toMatchObject(ENDED);
  await append(store, added('alice', 3n));
  await project(store);
  const third = await store.snapshot();
  for (const snapshot of [second, third]) expect((await plantsOf(snapshot)).done).toBe(false);
  await held.close();
  await backup.close();
}, 30_000);

test('while another reader keeps what was erased, long reads begin and go on; after its end they do not', async () => {
  const { store, directory } = await opened();
  const backup = openSqlite(directory, { readOnly: true });
  const held = await backup.snapshot();
  await append(store, added('alice', 2n));
  await store.endErasures([], false);
  await store.waitBeforeLongRead();
  const snapshot = await store.snapshot();
  await append(store, added('alice', 3n));
  await expect(store.cleared()).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
  await store.waitBeforeLongRead();
  expect((await plantsOf(snapshot)).done).toBe(false);
  await held.close();
  await backup.close();
  await store.cleared();
  await expect(plantsOf(snapshot)).rejects.toMatchObject(ENDED);
}, 30_000);

test('a long read that began while nothing was written is not taken for the reader before it', async () => {
  const { store, directory } = await opened();
  await store.endErasures([], false);
  const backup = openSqlite(directory, { readOnly: true });
  const held = await backup.snapshot();
  await store.waitBeforeLongRead();
  const snapshot = await store.snapshot();
  await append(store, added('alice', 2n));
  await held.close();
  await backup.close();
  await store.cleared();
  await expect(plantsOf(snapshot)).rejects.toMatchObject(ENDED);
}, 30_000);

test('a restart while another reader needs the write-ahead log knows whether something was erased', async () => {
  const { store, directory, log } = await opened();
  const backup = openSqlite(directory, { readOnly: true });
  const held = await backup.snapshot();
  await append(store, added('alice', 2n));
  const restarted = async () => {
    const again = openSqlite(directory, { alone: true });
    await again.cleared().finally(() => again.close());
  };
  await restarted();
  await store.endErasures([], false);
  await expect(restarted()).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
  await held.close();
  await restarted();
  expect(statSync(log).size).toBe(0);
  const second = await backup.snapshot();
  await append(store, added('alice', 3n));
  await restarted();
  await second.close();
  await backup.close();
}, 30_000);

test('what was erased is cleared however many reads of this process follow each other: they wait, or end', async () => {
  const { store } = await opened();
  const earlier = await store.snapshot();
  await append(store, added('alice', 2n));
  await store.endErasures([], false);
  const order: string[] = [];
  const told = (what: string) => () => order.push(what);
  const clearing = store.cleared().then(told('cleared'));
  const snapshot = store.waitBeforeLongRead().then(() => store.snapshot());
  await Promise.all([clearing, snapshot.then(told('snapshot')), store.fault!().then(told('checked'))]);
  expect(order).toEqual(['cleared', 'snapshot', 'checked']);
  await expect(plantsOf(earlier)).rejects.toMatchObject(ENDED);
  expect((await plantsOf(await snapshot)).done).toBe(false);
});

test('to ask for unfinished erasures truncates nothing', async () => {
  const { store, log } = await opened();
  await store.endErasures([], false);
  const before = statSync(log).size;
  expect(await store.unfinished()).toEqual([]);
  expect(statSync(log).size).toBe(before);
  await store.cleared();
  expect(statSync(log).size).toBe(0);
});
