import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { repairReadModel } from '../../src/audit/repair.ts';
import { headAt } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { openWriter } from '../../src/log/sqlite/connection.ts';
import { SCHEMA_VERSION } from '../../src/log/sqlite/schema.ts';
import { DATABASE_FILE, openSqlite } from '../../src/log/sqlite/store.ts';
import { isFormerSqlite } from '../../src/log/sqlite/upgrade.ts';
import { BrokenReadModelError, RefusedAppendError, type Store } from '../../src/log/store.ts';
import { added, append, chain, deleted, project } from '../support/events.ts';
import { readLog, readModel } from '../support/fold.ts';
import { verdictOf } from './audit-tampering.ts';
import { openSqliteStore } from './open-sqlite.ts';

let opened: Awaited<ReturnType<typeof openSqliteStore>>;
let store: Store;

beforeEach(async () => {
  opened = await openSqliteStore();
  store = opened.store;
});

afterEach(() => opened.cleanup());

const plants = (length: number) => Array.from({ length }, (_, id) => added('alice', BigInt(id)));

/** The database as any other program has it. */
function withDatabase(use: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  try {
    use(db);
  } finally {
    db.close();
  }
}

test('a file that cannot have a write-ahead log is refused: SQLite itself would go on without one', () => {
  expect(() => openWriter(':memory:')).toThrow(/cannot have a write-ahead log .*stays memory/);
  withDatabase((db) => expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' }));
});

test('a step that finds the file damaged says that the read model is of no use', async () => {
  await append(store, ...plants(3));
  await project(store);
  await store.close();
  let page: { rootpage: number } | undefined;
  withDatabase((db) => {
    page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'plants'").get() as typeof page;
  });
  const file = openSync(join(opened.directory, DATABASE_FILE), 'r+');
  writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, 4096 * (page!.rootpage - 1));
  closeSync(file);
  const damaged = await openSqlite(opened.directory);
  onTestFinished(() => damaged.close());
  await append(damaged, added('alice', 3n));
  await expect(project(damaged)).rejects.toThrow(BrokenReadModelError);
  await expect(project(damaged)).rejects.toThrow(
    /^the database is damaged \(database disk image is malformed\): run plant/,
  );
});

test('every commit is on disk when it returns: one that is not makes a hole for those behind it', async () => {
  const exec = DatabaseSync.prototype.exec;
  const commits: boolean[] = [];
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    if (sql === 'COMMIT') commits.push(this.prepare('PRAGMA synchronous').get()?.synchronous === 2);
    return exec.call(this, sql);
  });
  onTestFinished(() => spy.mockRestore());
  await append(store, ...plants(3));
  await project(store);
  expect(commits).toEqual([true, true]);
  await append(store, added('alice', 3n));
  withDatabase((db) => db.exec('DELETE FROM plants WHERE id = 1'));
  for await (const _ of repairReadModel(store));
  expect(await store.checkpoint()).toBe(4);
  for await (const _ of store.eraseContents('alice', 4));
  for await (const _ of store.clearErased([4]));
  expect(new Set(commits)).toEqual(new Set([true]));
});

/** Ends in the midst of a transaction, as one that changes the journal mode. */
const CUT_SHORT = `
  const db = new (require('node:sqlite').DatabaseSync)(process.argv[1]);
  db.exec('PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; CREATE TABLE large (text)');
  for (let row = 0; row < 500; row++) db.exec("INSERT INTO large VALUES (hex(randomblob(2000)))");
  process.kill(process.pid, 'SIGKILL');`;

test('a store whose first start was killed in the midst is opened by the next, and who only reads says so', async () => {
  await append(store, ...plants(3));
  await store.close();
  const file = join(opened.directory, DATABASE_FILE);
  expect(spawnSync(process.execPath, ['-e', CUT_SHORT, file]).signal).toBe('SIGKILL');
  expect(existsSync(`${file}-journal`)).toBe(true);
  expect(() => openSqlite(opened.directory, { readOnly: true })).toThrow('start the service once');
  expect(isFormerSqlite(opened.directory)).toBe(false);
  const next = openSqlite(opened.directory, { alone: true });
  onTestFinished(() => next.close());
  expect(await next.head()).toMatchObject({ position: 3 });
});

test('data that a newer release wrote is refused, by name and version', () => {
  const newer = SCHEMA_VERSION + 1;
  withDatabase((db) => db.exec(`PRAGMA user_version = ${newer}`));
  for (const readOnly of [false, true])
    expect(() => openSqlite(opened.directory, { readOnly })).toThrow(
      new RegExp(`plantstore\\.sqlite has schema ${newer}, .*newer release`),
    );
});

test('data from before the first release is refused, by name and version', () => {
  withDatabase((db) => db.exec('PRAGMA user_version = 4'));
  for (const readOnly of [false, true])
    expect(() => openSqlite(opened.directory, { readOnly })).toThrow(/has schema 4, from before the first release/);
});

test('events can be neither updated nor deleted, not even by another program', async () => {
  const events = await append(store, ...plants(3));
  withDatabase((db) => {
    const content = 'content = NULL, owner = NULL, plant_id = NULL, idempotency_key = NULL';
    for (const change of [
      "content = x'00'",
      'content = NULL',
      'owner = NULL',
      'erased_by = 9',
      `${content}, erased_by = 2`,
      `${content}, erased_by = 9, event = x'00'`,
      `content = NULL, erased_by = 9`,
      `${content}, erased_by = 9, hash = x'00'`,
      `${content}, erased_by = 9, position = 9`,
      content,
    ])
      expect(() => db.exec(`UPDATE events SET ${change} WHERE position = 2`)).toThrow('immutable');
    expect(() => db.exec('DELETE FROM events')).toThrow('immutable');
  });
  expect(await readLog(store)).toEqual(events);
});

test('an event that another program replaces, past the triggers, is found by a verification', async () => {
  await append(store, ...plants(3));
  withDatabase((db) => {
    const columns = 'event, hash, content, owner, plant_id';
    db.exec(`REPLACE INTO events (position, ${columns}) SELECT 2, ${columns} FROM events WHERE position = 3`);
  });
  expect((await verdictOf(store)).places).toMatchObject({ positions: 2, chain: 2 });
});

test('events whose positions do not follow the log are rejected, with nothing appended', async () => {
  const first = await append(store, ...plants(2));
  const [third, , fifth, sixth] = chain(headAt(first[1]!), plants(4));
  await expect(store.append([fifth!, sixth!])).rejects.toThrow('the log is broken at position 3');
  await expect(store.append([third!, fifth!])).rejects.toThrow('does not follow');
  expect(await readLog(store)).toEqual(first);
  expect(await store.append([third!])).toBe(1);
});

const KEEPS_OUT = {
  'a trigger that ignores events': 'CREATE TRIGGER foreign_one BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END',
  'a trigger that ignores keys':
    'CREATE TRIGGER foreign_one BEFORE INSERT ON idempotency_keys BEGIN SELECT RAISE(IGNORE); END',
  'a trigger that refuses events':
    "CREATE TRIGGER foreign_one BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no'); END",
  'a trigger that ends the transaction':
    "CREATE TRIGGER foreign_one BEFORE INSERT ON idempotency_keys BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
  'a unique index': 'CREATE UNIQUE INDEX foreign_one ON events (owner)',
};

test.each(Object.entries(KEEPS_OUT))('an event that is kept out of the log by %s is refused', async (_, foreign) => {
  const events = await append(store, { ...added('alice', 1n), idempotencyKey: 'a' });
  withDatabase((db) => db.exec(foreign));
  const next = () => append(store, added('alice', 2n), { ...added('alice', 3n), idempotencyKey: 'b' });
  await expect(next()).rejects.toThrow(
    new RefusedAppendError('a trigger or an index of the database keeps the event out'),
  );
  expect(await readLog(store)).toEqual(events);
  withDatabase((db) => db.exec(`DROP ${foreign.includes('INDEX') ? 'INDEX' : 'TRIGGER'} foreign_one`));
  const appended = await next();
  expect(await readLog(store)).toEqual([...events, ...appended]);
});

test('while another program holds the write lock, writes reject and reads go on; then all is as before', async () => {
  const first = await append(store, ...plants(2));
  const next = chain(headAt(first[1]!), [added('bob', 1n)]);
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  db.exec('BEGIN IMMEDIATE');
  await expect(store.append(next)).rejects.toThrow('locked');
  await expect(store.advance(0, 1, { deletes: [], inserts: [] }, { first: 0, hashes: [] })).rejects.toThrow('locked');
  expect(await readLog(store)).toEqual(first);
  db.close();
  expect(await store.append(next)).toBe(1);
  expect(await project(store)).toBe(3);
});

test('a reader of a store that is not there is told so, and nothing is made', () => {
  const directory = join(opened.directory, 'missing');
  expect(() => openSqlite(directory, { readOnly: true })).toThrow(`no plant store in ${directory}`);
  expect(existsSync(directory)).toBe(false);
});

test('a reader follows a store that is written to, reads it when it was left behind, and cannot write', async () => {
  const reader = openSqlite(opened.directory, { readOnly: true });
  const events = await append(store, ...plants(3));
  await project(store, 2);
  expect(await readLog(reader)).toEqual(events);
  expect(await readModel(reader, 'alice')).toEqual(await readModel(store, 'alice'));
  await expect(reader.append(chain(headAt(events[2]!), [deleted('alice', 0n)]))).rejects.toThrow('readonly');
  await expect(reader.advance(2, 3, { deletes: [], inserts: [] }, { first: 0, hashes: [] })).rejects.toThrow(
    'readonly',
  );
  await reader.close();
  await store.close();
  const later = openSqlite(opened.directory, { readOnly: true });
  expect(await readLog(later)).toEqual(events);
  await later.close();
});

test('an empty file is no store to a reader', () => {
  const directory = join(opened.directory, 'empty');
  openSqlite(directory);
  const file = join(directory, DATABASE_FILE);
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix);
  new DatabaseSync(file).close();
  expect(() => openSqlite(directory, { readOnly: true })).toThrow('contains no plant store');
});

test('a snapshot may be closed twice, and ends with its store', async () => {
  const closed = await store.snapshot();
  await closed.close();
  await closed.close();
  const open = await store.snapshot();
  await store.close();
  await expect(open.list('alice', undefined)[Symbol.asyncIterator]().next()).rejects.toThrow();
});

test('long reads come in small batches, with a turn of the event loop for others before each', async () => {
  await append(store, ...plants(3_000));
  await project(store);
  const snapshot = await store.snapshot();
  for (const batches of [store.read(0), snapshot.list('alice', undefined)]) {
    let turns = 0;
    let reading = true;
    const others = (async () => {
      for (; reading; turns++) await turn();
    })();
    const turnsAtBatch: number[] = [];
    for await (const batch of batches) {
      expect(batch.length).toBeLessThanOrEqual(1_000);
      turnsAtBatch.push(turns);
    }
    reading = false;
    await others;
    expect(turnsAtBatch.length).toBeGreaterThanOrEqual(3);
    expect(new Set(turnsAtBatch).size).toBe(turnsAtBatch.length);
  }
  await snapshot.close();
});

test('a store that believes to be alone has what another one appended', async () => {
  const alone = openSqlite(opened.directory, { alone: true });
  expect(await alone.head()).toEqual(EMPTY_HEAD);
  const [event] = await append(store, ...plants(1));
  expect(await alone.head()).toEqual(headAt(event!));
  await alone.close();
});

test('handles that take turns append the largest batches onto each other', async () => {
  const writers = [store, await opened.second()];
  let head = EMPTY_HEAD;
  for (let round = 0; round < 6; round++) {
    const events = chain(head, plants(512));
    expect(await writers[round % 2]!.append(events)).toBe(512);
    head = headAt(events.at(-1)!);
  }
  expect(await store.head()).toEqual(head);
});

test('a lease that was given back is free, also once the clock is set back', async () => {
  expect(await store.lease('projector', 'one', 3_000)).toBe(true);
  expect(await store.lease('projector', 'one', 0)).toBe(true);
  const before = Date.now() - 30_000;
  vi.spyOn(Date, 'now').mockReturnValue(before);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await store.lease('projector', 'two', 3_000)).toBe(true);
});

test('unfinished erasures are found without a search of the log', async () => {
  const shortest = async (): Promise<number> => {
    const times: number[] = [];
    for (let run = 0; run < 20; run++) {
      const start = performance.now();
      await store.unfinished();
      times.push(performance.now() - start);
    }
    return Math.min(...times);
  };
  await append(store, ...plants(10));
  const few = await shortest();
  for (let round = 0; round < 20; round++) await append(store, ...plants(1_000));
  expect(await shortest()).toBeLessThan(10 * few);
});
