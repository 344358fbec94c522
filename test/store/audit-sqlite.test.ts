import { truncateSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { verdictText } from '../../src/audit/verify.ts';
import { EVENT_COLUMNS } from '../../src/log/sqlite/events.ts';
import type { SqliteSnapshot } from '../../src/log/sqlite/read-model/snapshot.ts';
import { rewrite } from '../../src/log/sqlite/rewrite.ts';
import { KEYS, PLANTS } from '../../src/log/sqlite/schema.ts';
import { DATABASE_FILE, openSqlite } from '../../src/log/sqlite/store.ts';
import { SnapshotEndedError } from '../../src/log/store.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { readLog } from '../support/fold.ts';
import { auditContract } from './audit.ts';
import { fillForTampering, tamperingContract, verdictOf } from './audit-tampering.ts';
import { laterFieldsContract } from './later-fields.ts';
import { malformedContract } from './malformed.ts';
import { openSqliteStore } from './open-sqlite.ts';

auditContract('SQLite', openSqliteStore);
tamperingContract('SQLite', openSqliteStore);
malformedContract('SQLite', openSqliteStore);
laterFieldsContract('SQLite', openSqliteStore);

test('an idempotency key by which its event is not found is noticed', async () => {
  const opened = await openSqliteStore();
  const keyed = (id: bigint) => ({ ...added('alice', id), idempotencyKey: `k${id}` });
  await append(opened.store, keyed(1n), keyed(2n));
  expect((await verdictOf(opened.store)).places).toEqual({});
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  db.exec('UPDATE idempotency_keys SET position = 1 WHERE position = 2');
  db.close();
  expect((await verdictOf(opened.store)).places).toEqual({ storage: 1 });
  const again = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  again.exec("DELETE FROM idempotency_keys WHERE idempotency_key = 'k2'");
  again.close();
  expect((await verdictOf(opened.store)).places).toEqual({ storage: 2 });
  await opened.cleanup();
});

test.each([
  ['plants', { read_model: 'alice/1', storage: 'gone: plants' }],
  [
    'checkpoints',
    { read_model: expect.stringContaining('lost the checkpoint of its read model'), storage: 'gone: checkpoints' },
  ],
  ['idempotency_keys', { storage: 'gone: idempotency_keys' }],
  ['tree', { tree: 256, storage: 'gone: tree' }],
  ['leases', { storage: 'gone: leases' }],
  ['owner_key', { storage: 'gone: owner_key' }],
  ['uncleared', { storage: 'gone: uncleared' }],
])('a database whose table %s was dropped can be verified and read; nobody writes to it', async (table, places) => {
  const opened = await openSqliteStore();
  const events = await fillForTampering(opened.store);
  const others = Array.from({ length: 260 }, (_, id) => added('zoe', BigInt(100 + id)));
  events.push(...(await append(opened.store, ...others)));
  await project(opened.store);
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  db.exec(`DROP TABLE ${table}`);
  db.close();
  const reader = openSqlite(opened.directory, { readOnly: true });
  expect((await verdictOf(reader)).places).toEqual(places);
  expect(await readLog(reader)).toEqual(events);
  await reader.close();
  expect(() => openSqlite(opened.directory)).toThrow(`is not as this release makes it (gone: ${table}): run`);
  await opened.cleanup();
});

test.each([
  ['plants', { read_model: 'alice/1', storage: expect.stringMatching(/^gone: plants; .*: table plants_b.*, view pl/) }],
  ['events', { positions: 1, storage: expect.stringMatching(/^gone: events; .*: table events_b.*, view ev/) }],
])('a view in the place of the table %s is found, whatever it shows; nobody writes to it', async (table, places) => {
  const opened = await openSqliteStore();
  await fillForTampering(opened.store);
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  db.exec(`ALTER TABLE ${table} RENAME TO ${table}_before; CREATE VIEW ${table} AS SELECT * FROM ${table}_before`);
  db.close();
  const reader = openSqlite(opened.directory, { readOnly: true });
  expect((await verdictOf(reader)).places).toMatchObject(places);
  await reader.close();
  expect(() => openSqlite(opened.directory)).toThrow(`is not as this release makes it (gone: ${table}; `);
  await opened.cleanup();
});

test.each([
  ['events', 'ALTER TABLE events ADD COLUMN note TEXT'],
  ['plants', 'ALTER TABLE plants ADD COLUMN note TEXT'],
  ['idempotency_keys', "ALTER TABLE idempotency_keys ADD COLUMN note TEXT GENERATED ALWAYS AS (owner || '!')"],
  ['tree', 'ALTER TABLE tree RENAME COLUMN hash TO root'],
  ['uncleared', 'ALTER TABLE uncleared ADD COLUMN name TEXT'],
  [
    'events_are_not_deleted',
    'DROP TRIGGER events_are_not_deleted; CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events BEGIN SELECT 1; END',
  ],
  ['events_that_erase', 'DROP INDEX events_that_erase; CREATE INDEX events_that_erase ON events (erases_owner)'],
])('a database whose %s was changed by hand is not sound; nobody writes to it', async (name, change) => {
  const opened = await openSqliteStore();
  await fillForTampering(opened.store);
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  db.exec(change);
  db.close();
  const fault = `defined otherwise than by this release: ${name}`;
  expect((await verdictOf(opened.store)).places.storage).toBe(fault);
  expect(() => openSqlite(opened.directory)).toThrow(`is not as this release makes it (${fault}): run`);
  await opened.cleanup();
});

test.each([
  ['trigger t', 'CREATE TRIGGER t BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END'],
  ['trigger t', 'CREATE TRIGGER t AFTER INSERT ON plants BEGIN DELETE FROM leases; END'],
  ['trigger plants', 'CREATE TRIGGER plants AFTER INSERT ON tree BEGIN SELECT 1; END'],
  ['trigger uncleared', 'CREATE TRIGGER uncleared AFTER INSERT ON tree BEGIN SELECT 1; END'],
  ['table kept', 'CREATE TABLE kept AS SELECT * FROM plants'],
  ['table plants_1', 'CREATE TABLE plants_1 (owner TEXT)'],
  ['index i', 'CREATE INDEX i ON events (owner)'],
  ['view v', 'CREATE VIEW v AS SELECT * FROM plants'],
  ['table sqlite_stat1', 'ANALYZE'],
])('what is not of this release is named: %s; nobody writes to it', async (name, sql) => {
  const opened = await openSqliteStore();
  await fillForTampering(opened.store);
  const { db, close } = await opened.database();
  db.exec(sql);
  await close();
  expect((await verdictOf(opened.store)).places).toEqual({ storage: `not of this release: ${name}` });
  const refusal = `is not as this release makes it (not of this release: ${name}): run plantstore audit verify; if a newer`;
  expect(() => openSqlite(opened.directory)).toThrow(refusal);
  await opened.cleanup();
});

test('what an erasure that was cut short has left is of this release, unless it was changed', async () => {
  const opened = await openSqliteStore();
  await fillForTampering(opened.store);
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  const faultHere = async () => (await verdictOf(opened.store)).places.storage;
  for (const table of [PLANTS, KEYS]) {
    const steps = rewrite(db, table);
    await steps.next();
    expect(await faultHere()).toBeUndefined();
    openSqlite(opened.directory).close();
    const { copy, former } = table;
    db.exec(`DROP TRIGGER ${copy}_delete`);
    expect(await faultHere()).toBe(`gone: ${copy}_delete`);
    db.exec(`DROP TRIGGER ${copy}_insert; ALTER TABLE ${copy} RENAME TO ${former}`);
    expect(await faultHere()).toBeUndefined();
    db.exec(`ALTER TABLE ${former} ADD COLUMN note TEXT`);
    expect(await faultHere()).toBe(`defined otherwise than by this release: ${former}`);
    db.exec(`DROP TABLE ${former}`);
  }
  db.close();
  await opened.cleanup();
});

test('a database whose events were dropped, or whose log has no id, gets a verdict that names them', async () => {
  const opened = await openSqliteStore();
  await fillForTampering(opened.store);
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  const found = async (sql: string) => {
    db.exec(sql);
    const reader = openSqlite(opened.directory, { readOnly: true });
    const { places } = await verdictOf(reader);
    await reader.close();
    return places;
  };
  const lost = 'the store has lost the id of its log (the row of log): restore a backup';
  expect(await found('DELETE FROM log')).toEqual({ storage: lost });
  expect(await found('DROP TABLE log')).toEqual({ storage: 'gone: log' });
  const storage = 'gone: events, events_that_erase, events_are_only_erased, events_are_not_deleted, log';
  expect(await found('DROP TABLE events')).toMatchObject({ positions: 1, storage });
  db.close();
  expect(() => openSqlite(opened.directory)).toThrow(`(${storage})`);
  await opened.cleanup();
});

test.each([
  ['that no event has', "('alice', 'other', 3)", 3],
  ['of another owner', "('bob', 'k', 3)", 3],
  ['of another event', "('alice', 'k', 4)", 4],
  ['behind the end of the log', "('alice', 'k', 99)", 99],
  ['before the first event', "('alice', 'k', -1)", -1],
])('a row of idempotency_keys %s is a fault of the storage', async (_, row, storage) => {
  const opened = await openSqliteStore();
  await fillForTampering(opened.store);
  const { db, close } = await opened.database();
  db.exec(`INSERT INTO idempotency_keys VALUES ${row}`);
  await close();
  expect((await verdictOf(opened.store)).places).toEqual({ storage });
  await opened.cleanup();
});

/** Values of columns in a table that has no types, of the event at a position; the one at 5 is erased. */
const UNTYPED: readonly (readonly [position: number, column: string, value: string])[] = [
  [4, 'event', "'text'"],
  [4, 'event', 'NULL'],
  [4, 'event', '7'],
  [4, 'hash', "'text'"],
  [4, 'hash', 'NULL'],
  [4, 'content', "'text'"],
  [4, 'content', '1.5'],
  [4, 'erased_by', "'text'"],
  [5, 'erased_by', "x'09'"],
  [5, 'erased_by', "'text'"],
  [5, 'erased_by', '9.5'],
  [12, 'event', "'text'"],
  [12, 'event', 'NULL'],
  [12, 'hash', "'text'"],
];

/** The same of the columns by which events are found. */
const UNTYPED_KEYS: typeof UNTYPED = [
  [4, 'owner', "CAST('alice' AS BLOB)"],
  [4, 'owner', '7'],
  [4, 'plant_id', '2.5'],
  [4, 'plant_id', "'text'"],
  [4, 'plant_id', "x'02'"],
  [3, 'idempotency_key', "CAST('k' AS BLOB)"],
];

test('whatever a column became in a table that lost its types, it is found', async () => {
  const opened = await openSqliteStore();
  await fillForTampering(opened.store);
  const { db: loosening, keep } = await opened.database();
  await keep(5, { content: undefined, owner: undefined, plantId: undefined, erasedBy: 9 });
  loosening.enableDefensive(false);
  loosening.exec(`PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'BLOB NOT NULL', 'BLOB') WHERE name = 'events'`);
  loosening.close();
  const db = new DatabaseSync(join(opened.directory, DATABASE_FILE));
  db.exec('PRAGMA ignore_check_constraints = ON');
  for (const [position, column, value] of [...UNTYPED, ...UNTYPED_KEYS]) {
    const kind = `${column} of ${position} is ${value}`;
    const { was } = db.prepare(`SELECT ${column} AS was FROM events WHERE position = ?`).get(position)!;
    db.exec(`UPDATE events SET ${column} = ${value} WHERE position = ${position}`);
    // A handle that read the table with its types keeps them.
    const reader = openSqlite(opened.directory, { readOnly: true });
    const { verdict, places } = await verdictOf(reader);
    await reader.close();
    expect(verdictText(verdict), kind).toContain('NOT WHOLE');
    if (UNTYPED_KEYS.some((entry) => entry[1] === column)) {
      expect(places.storage, kind).toContain('defined otherwise than by this release: events');
      expect(places, kind).not.toHaveProperty('chain');
    } else expect(places, kind).toMatchObject({ positions: position, chain: position, contents: position });
    db.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(was!, position);
  }
  expect((await verdictOf(opened.store)).places).not.toHaveProperty('positions');
  db.close();
  await opened.cleanup();
});

test.each(['-9007199254740991', '-9007199254740992', '-9223372036854775807', '-9223372036854775808'])(
  'an event invented at position %s is found',
  async (position) => {
    const opened = await openSqliteStore();
    await fillForTampering(opened.store);
    const { db, close } = await opened.database();
    const columns = EVENT_COLUMNS.replace(/\bposition\b/, position);
    db.exec(`INSERT INTO events (${EVENT_COLUMNS}) SELECT ${columns} FROM events WHERE position = 1`);
    await close();
    const { places } = await verdictOf(opened.store);
    expect(places).toMatchObject({ positions: Number(position), chain: Number(position) });
    await opened.cleanup();
  },
);

/** A store whose tables take many pages, closed; and the first page of a table or an index, from 1 up. */
async function openPages() {
  const opened = await openSqliteStore();
  await append(opened.store, ...Array.from({ length: 200 }, (_, id) => added('alice', BigInt(id), 'Fern'.repeat(20))));
  await project(opened.store);
  await opened.store.close();
  const file = join(opened.directory, DATABASE_FILE);
  const db = new DatabaseSync(file);
  const pageOf = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?');
  const { page_size: size } = db.prepare('PRAGMA page_size').get()! as { page_size: number };
  const pages = { events: Number(pageOf.get('events')!.rootpage), plants: Number(pageOf.get('plants')!.rootpage) };
  db.close();
  return { ...opened, file, size, pages };
}

async function damage(file: string, at: number): Promise<void> {
  const handle = await openFile(file, 'r+');
  await handle.write(Buffer.alloc(64, 0xa5), 0, 64, at);
  await handle.close();
}

const MALFORMED = 'not asked: database disk image is malformed';

test('a page of the events that is damaged is a fault of the storage: nothing else is asked', async () => {
  const { file, size, pages, reopen, cleanup } = await openPages();
  await damage(file, (pages.events - 1) * size);
  const { verdict, places } = await verdictOf(await reopen());
  expect(verdict).toMatchObject({ ok: false, head: undefined });
  const asked = verdict.answers.filter(({ question }) => question !== 'storage');
  expect(places).toEqual({
    ...Object.fromEntries(asked.map(({ question }) => [question, MALFORMED])),
    storage: expect.stringContaining(`page ${pages.events}`),
  });
  await cleanup();
});

test('a page of the read model that is damaged leaves the questions about the log', async () => {
  const { file, size, pages, reopen, cleanup } = await openPages();
  await damage(file, (pages.plants - 1) * size);
  const { places } = await verdictOf(await reopen());
  expect(places).toEqual({ read_model: MALFORMED, storage: expect.stringContaining(`page ${pages.plants}`) });
  await cleanup();
});

test('an event that cannot be read does not hide damage', async () => {
  const { file, size, pages, reopen, database, cleanup } = await openPages();
  const { db, close } = await database();
  db.exec("UPDATE events SET event = x'00' WHERE position = 4");
  await close();
  await damage(file, (pages.plants - 1) * size);
  const { places } = await verdictOf(await reopen());
  expect(places).toMatchObject({ chain: 4, storage: expect.stringContaining(`page ${pages.plants}`) });
  await cleanup();
});

test('a database cut short, or damaged in its first page, cannot be opened, and says what to do', async () => {
  const { file, size, reopen, cleanup } = await openPages();
  truncateSync(file, 3 * size);
  await expect(reopen()).rejects.toThrow(
    `${file} is damaged (database disk image is malformed): run plantstore audit verify, and restore a backup if it says NO`,
  );
  await damage(file, 0);
  await expect(reopen()).rejects.toThrow(
    `${file} is damaged (file is not a database): run plantstore audit verify, and restore a backup if it says NO`,
  );
  await cleanup();
});

test('a verification whose snapshot the store ends, for an erasure, compares again with a new one', async () => {
  const opened = await openSqliteStore();
  await fillForTampering(opened.store);
  const left = { snapshots: 2 };
  const ending = override(opened.store, {
    snapshot: async () => {
      const snapshot = (await opened.store.snapshot()) as SqliteSnapshot;
      if (left.snapshots-- > 0) snapshot.end();
      return snapshot;
    },
  });
  expect((await verdictOf(ending)).places).toEqual({});
  expect(left.snapshots).toBe(-1);
  // Not for ever.
  left.snapshots = Number.POSITIVE_INFINITY;
  await expect(verdictOf(ending)).rejects.toBeInstanceOf(SnapshotEndedError);
  await opened.cleanup();
});
