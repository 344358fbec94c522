import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { seal, subjectOf } from '../../src/log/event/chain.ts';
import { openLog } from '../../src/log/log.ts';
import { backUp } from '../../src/log/sqlite/backup.ts';
import { rewrite } from '../../src/log/sqlite/rewrite.ts';
import { KEYS, PLANTS } from '../../src/log/sqlite/schema.ts';
import { DATABASE_FILE, openSqlite } from '../../src/log/sqlite/store.ts';
import type { Store, Unfinished } from '../../src/log/store.ts';
import { added, append, deleted, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verdictOf } from './audit-tampering.ts';
import { eraseWords, erasureContract } from './erasure.ts';
import { openSqliteStore } from './open-sqlite.ts';

/** Every byte of every file of the store. */
const bytesOf = (directory: string): string =>
  readdirSync(directory)
    .map((file) => readFileSync(join(directory, file), 'latin1'))
    .join('\n');

erasureContract('SQLite', async () => {
  const opened = await openSqliteStore();
  return {
    ...opened,
    everything: async () => bytesOf(opened.directory),
  };
});

test('an erasure whose store is away before it begins rejects with that, and does not say that the store refused', async () => {
  const { store, cleanup } = await openSqliteStore();
  await append(store, added('alice', 1n));
  const away = new Error('the connection is lost');
  const log = await openLog(override(store, { ownerKey: () => Promise.reject(away) }), { onFault: () => {} });
  await expect(eraseWords(log, 'alice')).rejects.toBe(away);
  await log.close();
  await cleanup();
});

/** Plants of 60 owners whose rows lie between each other's, each with an idempotency key; some come and go. */
async function fillPages(store: Awaited<ReturnType<typeof openSqliteStore>>['store'], name: string): Promise<void> {
  const ownerOf = (id: number) => `${name} ${10 + ((id * 7919) % 60)}`;
  for (let round = 0; round < 8; round++) {
    const ids = Array.from({ length: 400 }, (_, index) => round * 400 + ((index * 37) % 400));
    const adds = ids.map((id) => ({
      ...added(ownerOf(id), BigInt(id), `${ownerOf(id)} ${'x'.repeat(id % 90)}`),
      idempotencyKey: `${ownerOf(id)} ${(id * 2654435761) % 1e9}${'x'.repeat(id % 101)}`,
    }));
    const deletes = ids.filter((id) => id % 3 === 0).map((id) => deleted(ownerOf(id), BigInt(id)));
    await append(store, ...adds, ...deletes);
    await project(store);
  }
}

test('many owners whose rows have shared pages are erased: no page has a copy of one of them', async () => {
  const opened = await openSqliteStore();
  await fillPages(opened.store, 'Quux');
  const log = await openLog(opened.store, { onFault: () => {} });
  const owners = Array.from({ length: 20 }, (_, index) => `Quux ${10 + index}`);
  await Promise.all(
    owners.map(async (owner) => {
      for await (const _ of log.erase({ owner, actor: 'operator' }));
    }),
  );
  expect((await verdictOf(opened.store)).places).toEqual({});
  await log.close();
  const found = new Set(bytesOf(opened.directory).match(/Quux \d\d/g));
  expect(owners.filter((owner) => found.has(owner))).toEqual([]);
  await opened.cleanup();
});

/** Erasures that end in another order than they began, as those do that wait for Kafka's topic. */
async function endedAmongOthers(store: Store): Promise<readonly string[]> {
  // With this seed, an index of names leaves copies of two of them.
  let seed = 26 * 7919;
  const drawn = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  const begun: Unfinished[] = [];
  const ended: string[] = [];
  for (let count = 0; count < 300; count++) {
    const owner = `Quux ${1000 + ((count * 7919) % 5003)} ${'y'.repeat(drawn(900))}.`;
    const erases = { owner, key: new Uint8Array(16), isCleared: true, isPublished: true };
    const event = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
    const erasure = { ...seal(await store.head(), event, `erasure ${count}`, 0), erases };
    await store.append([erasure]);
    begun.push(erasure);
    if (drawn(3) > 0 || begun.length <= 20) continue;
    const [over] = begun.splice(drawn(begun.length), 1);
    await store.endErasures([over!.position], true);
    ended.push(over!.erases.owner.slice(0, 10));
  }
  return ended;
}

test('erasures end while many others wait for the topic: no page has a copy of a name', async () => {
  const { store, directory, cleanup } = await openSqliteStore();
  const ended = await endedAmongOthers(store);
  await store.cleared();
  const bytes = bytesOf(directory);
  expect(ended.length).toBeGreaterThan(80);
  expect(ended.filter((owner) => bytes.includes(owner))).toEqual([]);
  await cleanup();
});

test('an owner is erased in a restored backup: no page has a copy', async () => {
  const opened = await openSqliteStore();
  await append(opened.store, ...Array.from({ length: 300 }, (_, id) => added(id % 2 ? 'other' : 'gone', BigInt(id))));
  await project(opened.store);
  const restored = temporaryDirectory(onTestFinished);
  await backUp(opened.directory, join(restored, DATABASE_FILE));
  const log = await openLog(openSqlite(restored), { onFault: () => {} });
  expect((await stepsOf(log.erase({ owner: 'gone', actor: 'operator' }))).at(-1)).toMatchObject({ events: 150 });
  await log.close();
  expect(bytesOf(restored)).not.toContain('gone');
  await opened.cleanup();
});

async function stepsOf<T>(steps: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const step of steps) all.push(step);
  return all;
}

test('a slow reader of a long list holds up neither the erasure of another owner nor an add', async () => {
  const { store, cleanup } = await openSqliteStore();
  const ids = Array.from({ length: 3_000 }, (_, index) => BigInt(index));
  await append(store, ...ids.map((id) => added('reader', id, 'x'.repeat(1_000))), added('gone', 1n));
  await project(store);
  const log = await openLog(store, { onFault: () => {} });
  const { plants } = await log.list({ owner: 'reader', after: undefined, limit: undefined });
  const batches = (plants as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  await batches.next();
  const steps = await stepsOf(log.erase({ owner: 'gone', actor: 'operator' }));
  expect(steps.at(-1)).toMatchObject({ events: 1 });
  expect((await store.unfinished()).length).toBe(0);
  const message = expect.stringContaining('no longer keeps the state that this read began with; try again');
  await expect(batches.next()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE', message });
  await log.close();
  await cleanup();
});

test('an erasure is cleared once every table is written anew, and not by a process that died before', async () => {
  const { store, cleanup } = await openSqliteStore();
  await append(store, added('gone', 1n), added('other', 1n));
  const erases = { owner: 'gone', key: new Uint8Array(16), isCleared: false, isPublished: false };
  const event = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
  await store.append([{ ...seal(await store.head(), event, 'erased', 0), erases }]);
  const isCleared = async () => (await store.unfinished())[0]!.erases.isCleared;
  let steps = 0;
  for await (const _ of store.clearErased([3])) {
    steps++;
    expect(await isCleared()).toBe(false);
  }
  expect(steps).toBeGreaterThan(1);
  expect(await isCleared()).toBe(true);
  await cleanup();
});

const HELD_UP = {
  reason: 'OWNER_BEING_ERASED',
  message: expect.stringContaining('may still be in the write-ahead log, because a reader, such as a backup'),
};

test('an erasure is not complete while a reader keeps what was removed; who has nothing to erase hears so at once', async () => {
  const { store, directory, cleanup } = await openSqliteStore();
  await append(store, added('gone', 1n));
  await project(store);
  const log = await openLog(store, { onFault: () => {} });
  const reader = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true });
  reader.exec('BEGIN; SELECT count(*) FROM events');
  const erase = (owner: string) => stepsOf(log.erase({ owner, actor: 'operator' }));
  for (let call = 0; call < 2; call++) await expect(erase('gone')).rejects.toMatchObject(HELD_UP);
  expect(await store.unfinished()).toMatchObject([{ position: 2, erases: { isCleared: true } }]);
  expect((await erase('nobody')).at(-1)).toMatchObject({ position: undefined });
  reader.close();
  expect((await erase('gone')).at(-1)).toMatchObject({ position: 2, events: 1 });
  expect(bytesOf(directory)).not.toContain('gone');
  await log.close();
  await cleanup();
}, 30_000);

test('a reader that begins before the last step of an erasure holds up the outcome: each caller hears so until the name is out of every file', async () => {
  const { store, directory, cleanup } = await openSqliteStore();
  await append(store, added('gone', 1n));
  await project(store);
  let onCleared = () => {};
  const watched = override(store, {
    // From between the last two steps: a backup that begins here has read the name, and all of its contents are gone.
    endErasures: async (...of) => {
      reader.exec('BEGIN; SELECT count(*) FROM events');
      await store.endErasures(...of);
    },
    cleared: () => store.cleared().then(() => onCleared()),
  });
  const reader = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true });
  const log = await openLog(watched, { onFault: () => {} });
  const key = new Uint8Array(16).fill(7);
  // The second call finds that the erasure is complete.
  for (let call = 0; call < 2; call++)
    await expect(stepsOf(log.erase({ owner: 'gone', actor: 'operator', key }))).rejects.toMatchObject(HELD_UP);
  expect(await store.unfinished()).toEqual([]);
  // A restart has not forgotten it.
  const restarted = openSqlite(directory, { alone: true, timeout: 60_000 });
  await expect(restarted.cleared()).rejects.toMatchObject(HELD_UP);
  expect(bytesOf(directory)).toContain('gone');
  reader.close();
  await restarted.cleared();
  expect(bytesOf(directory)).not.toContain('gone');
  await new Promise<void>((resolve) => {
    onCleared = resolve;
    log.finishErasures((fault) => expect.unreachable(String(fault)));
  });
  expect((await stepsOf(log.erase({ owner: 'gone', actor: 'operator', key }))).at(-1)).toMatchObject({ events: 1 });
  await restarted.close();
  await log.close();
  await cleanup();
});

const LEFT = "SELECT name FROM sqlite_schema WHERE name GLOB '*_former' OR name GLOB 'plants_*' OR name GLOB '*keys_*'";

test.each([
  [PLANTS, 'name', "'Fern'"],
  [KEYS, 'position', '7'],
])('a table that is written anew takes what is written meanwhile: %o', async (table, member, value) => {
  const opened = await openSqliteStore();
  await fillPages(opened.store, 'owner');
  const { db, close } = await opened.database();
  db.exec(`${table.create('expected')}; INSERT INTO expected SELECT * FROM ${table.name}`);
  let step = 10;
  for await (const _ of rewrite(db, table)) {
    for (const name of [table.name, 'expected'])
      db.exec(`DELETE FROM ${name} WHERE owner IN ('owner ${step}', 'owner ${79 - step}');
        INSERT INTO ${name} (${table.key.slice(0, 2).join()}, ${member})
          VALUES ('first', ${step}, ${value}), ('owner 40a', ${step}, ${value}), ('z', ${step}, ${value})`);
    step++;
  }
  expect(step).toBeGreaterThan(15);
  const rowsOf = (name: string) => db.prepare(`SELECT * FROM ${name} ORDER BY ${table.key}`).all();
  expect(rowsOf(table.name)).toEqual(rowsOf('expected'));
  expect(db.prepare(LEFT).all()).toEqual([]);
  await close();
  await opened.cleanup();
});

test('a table that is written anew leaves tables of somebody else alone, whatever their names', async () => {
  const opened = await openSqliteStore();
  const { db, close } = await opened.database();
  const others = ['plants_archive', 'plants_copy_2', `plants_${'0'.repeat(32)}`];
  for (const name of others)
    db.exec(`${PLANTS.create(name)}; INSERT INTO ${name} (owner, id, name) VALUES ('a', 1, 'Fern')`);
  for await (const _ of rewrite(db, PLANTS));
  for (const name of others) expect(db.prepare(`SELECT count(*) AS rows FROM ${name}`).get()).toEqual({ rows: 1 });
  await close();
  await opened.cleanup();
});

test('a rewriting that ends early, at any step, has changed nothing, and the next one removes what it has left', async () => {
  const opened = await openSqliteStore();
  await fillPages(opened.store, 'owner');
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  let ends = 0;
  for (let steps = 1; ends === 0; steps++) {
    const ended = rewrite(db, PLANTS);
    for (let step = 0; step < steps; step++) ends += Number((await ended.next()).done);
    await ended.return(undefined);
    await append(opened.store, added('anew', BigInt(steps)), added('owner 10', BigInt(1_000_000 + steps)));
    await project(opened.store);
    expect((await verdictOf(opened.store)).places).toEqual({});
    // One that is cut off again while it removes.
    await rewrite(db, PLANTS).next();
    for await (const _ of rewrite(db, PLANTS));
    expect((await verdictOf(opened.store)).places).toEqual({});
    expect(db.prepare(LEFT).all()).toEqual([]);
  }
  db.close();
  await opened.cleanup();
});
