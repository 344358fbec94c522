import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { repairReadModel } from '../../src/audit/repair.ts';
import { lockDataDirectory } from '../../src/log/sqlite/lock.ts';
import { SCHEMA_VERSION } from '../../src/log/sqlite/schema.ts';
import { DATABASE_FILE, openSqlite } from '../../src/log/sqlite/store.ts';
import { upgradeSqlite } from '../../src/log/sqlite/upgrade.ts';
import type { Store } from '../../src/log/store.ts';
import { command } from '../support/command.ts';
import { expectErased, expectTakenOver, FORMER, formerDirectory, formerFile } from './former.ts';

let directory: string;
const made: string[] = [];

beforeEach(() => {
  directory = formerDirectory();
  made.push(directory);
});

afterEach(() => {
  for (const each of made.splice(0)) rmSync(each, { recursive: true });
});

const repair = (store: Store) => repairReadModel(store);

async function upgrade(where = directory): Promise<void> {
  for await (const _ of upgradeSqlite(where, repair));
}

async function expectUpgraded(where = directory): Promise<void> {
  const store = openSqlite(where);
  await expectTakenOver(store);
  await store.close();
}

/** The database as any other program has it. */
function withDatabase<T>(use: (db: DatabaseSync) => T, where = directory): T {
  using db = new DatabaseSync(join(where, DATABASE_FILE));
  return use(db);
}

const tables = (db: DatabaseSync): unknown[] => db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all();

/** How often a text is in the closed database. */
const occurrences = (text: string): number =>
  readFileSync(join(directory, DATABASE_FILE), 'latin1').split(text).length - 1;

/** Changes the events as somebody does who can write to the file. */
const tamper = (change: string): void =>
  withDatabase((db) => {
    db.exec('DROP TRIGGER events_are_only_erased; DROP TRIGGER events_are_not_deleted');
    db.exec(`PRAGMA ignore_check_constraints = ON; ${change}`);
  });

describe('the upgrade of an embedded store of 1.0.0', () => {
  test('keeps the log, the read model, the erasures and every proof', async () => {
    const logId = withDatabase((db) => db.prepare('SELECT id FROM log').get()!.id);
    await upgrade();
    await expectUpgraded();
    const store = openSqlite(directory);
    expect(await store.logId()).toBe(logId);
    await expectErased(store);
    await store.close();
  });

  test('keeps whether the log was published, for which erasures wait', async () => {
    withDatabase((db) => db.exec("DELETE FROM leases; INSERT INTO leases VALUES ('publisher', 'gone', 0)"));
    await upgrade();
    const store = openSqlite(directory);
    expect(await store.wasLeased('publisher')).toBe(true);
    await store.close();
  });

  test('leaves the tables of a new store, and a read model and a tree that go to the end of the log', async () => {
    await upgrade();
    const fresh = `${directory}-fresh`;
    made.push(fresh);
    await openSqlite(fresh).close();
    await openSqlite(directory).close();
    const unquoted = (each: unknown) => JSON.stringify(each).replaceAll(/\\"|\s+|\\n/g, '');
    expect(withDatabase(tables).map(unquoted)).toEqual(withDatabase(tables, fresh).map(unquoted));
    expect(withDatabase((db) => db.prepare('SELECT node FROM tree').all())).toEqual([{ node: 0 }, { node: 1 }]);
    expect(withDatabase((db) => db.prepare('PRAGMA user_version').get())).toEqual({ user_version: SCHEMA_VERSION });
  });

  test('leaves no byte of an erased content, and of any other one copy in the log and one in the read model', async () => {
    await upgrade();
    expect(readdirSync(directory)).toEqual([DATABASE_FILE]);
    for (const owner of ['gone one', 'gone two', 'removed', 'cleared', 'published'])
      expect(occurrences(`Secret of ${owner}`)).toBe(0);
    expect(occurrences('Not in the read model yet')).toBe(2 * 71);
    expect(occurrences('Plant 237')).toBe(2);
  });

  test('begins again wherever it was killed', async () => {
    let points = 0;
    const steps = upgradeSqlite(directory, repair);
    for (; (await steps.next()).done !== true; points++) {
      const killed = `${directory}-${points}`;
      made.push(killed);
      // As the system has the files while the process is still at it.
      cpSync(directory, killed, { recursive: true });
      await upgrade(killed);
      await expectUpgraded(killed);
    }
    expect(points).toBeGreaterThan(5);
  });

  test('takes the place of the file that a symbolic link names', async () => {
    const elsewhere = `${directory}-elsewhere`;
    made.push(elsewhere);
    mkdirSync(elsewhere);
    renameSync(join(directory, DATABASE_FILE), join(elsewhere, DATABASE_FILE));
    symlinkSync(join(elsewhere, DATABASE_FILE), join(directory, DATABASE_FILE));
    await upgrade();
    await expectUpgraded();
    for (const where of [directory, elsewhere]) expect(readdirSync(where)).toEqual([DATABASE_FILE]);
    await expectUpgraded(elsewhere);
  });

  test('begins again where what stands in the place of its copy is damaged', async () => {
    mkdirSync(join(directory, 'upgrade'));
    writeFileSync(join(directory, 'upgrade', DATABASE_FILE), 'x'.repeat(100_000));
    await upgrade();
    await expectUpgraded();
  });

  test('takes what 1.0.0 did after an upgrade had begun, an erasure too', async () => {
    withDatabase((db) => db.exec('CREATE TABLE later AS SELECT * FROM events WHERE position > 500'));
    tamper('DELETE FROM events WHERE position > 500');
    const steps = upgradeSqlite(directory, repair);
    // It has appended the events of erasures that were only noted.
    for (let step = await steps.next(); step.value?.what === 'copied'; ) step = await steps.next();
    await steps.return(undefined);
    withDatabase((db) => db.exec('INSERT INTO events SELECT * FROM later; DROP TABLE later'));
    withDatabase((db) =>
      db.exec(
        `UPDATE events SET erased_by = 423, owner = NULL, actor = NULL, issuer = NULL, plant_id = NULL, name = NULL,
         tag = NULL, idempotency_key = NULL, traceparent = NULL, salt = NULL WHERE owner = 'appended' AND position < 423`,
      ),
    );
    await upgrade();
    expect(occurrences('Secret of appended')).toBe(0);
    const store = openSqlite(directory);
    expect((await store.head()).position).toBe(573);
    await store.close();
  });

  test.each([
    ['a changed content', "UPDATE events SET name = 'Rose' WHERE position = 300", 300, 'its content'],
    ['a changed hash', 'UPDATE events SET hash = zeroblob(32) WHERE position = 300', 300, 'its hash'],
    ['a changed time', 'UPDATE events SET time = time + 1 WHERE position = 300', 300, 'its hash'],
    ['a lost event', 'DELETE FROM events WHERE position = 300', 300, 'the next event has position 301'],
    ['a content without a salt', 'UPDATE events SET salt = NULL WHERE position = 300', 300, 'its content is missing'],
    [
      'a member of other events',
      "UPDATE events SET plant_id = 5 WHERE type = 'OwnerErased'",
      407,
      'its member plantId',
    ],
    ['what an erasure left', "UPDATE events SET name = 'Rose' WHERE position = 12", 12, 'its member name'],
    ['a count of no erasure', 'UPDATE events SET erased = 1 WHERE position = 300', 300, 'its member erased'],
  ])('stops at %s, and leaves the store to 1.0.0', async (_, change, position, why) => {
    tamper(change);
    const before = withDatabase(tables);
    await expect(upgrade()).rejects.toThrow(
      new RegExp(`cannot be upgraded: the log is broken at position ${position}: .*${why}.*audit verify of 1\\.0\\.0`),
    );
    expect(withDatabase(tables)).toEqual(before);
    expect(withDatabase((db) => db.prepare('PRAGMA user_version').get())).toEqual({ user_version: 5 });
  });

  test('does not replace a store that another program reads, and goes on when it has ended', async () => {
    withDatabase((db) => db.exec('PRAGMA journal_mode = WAL'));
    const reader = new DatabaseSync(join(directory, DATABASE_FILE), { readOnly: true });
    reader.exec('BEGIN; SELECT count(*) FROM events');
    await expect(upgrade()).rejects.toThrow('is in use by another program, such as a backup');
    reader.close();
    await upgrade();
    await expectUpgraded();
  });

  test('puts nothing in the place of the store while another program reads the new one, whose end may be in its log', async () => {
    const steps = upgradeSqlite(directory, repair);
    for (let step = await steps.next(); step.value?.what !== 'folded into the plants'; ) step = await steps.next();
    const reader = new DatabaseSync(join(directory, 'upgrade', DATABASE_FILE), { readOnly: true });
    reader.exec('BEGIN; SELECT count(*) FROM events');
    const rest = (async () => {
      for await (const _ of steps);
    })();
    await expect(rest).rejects.toThrow('is in use by another program, such as a backup');
    reader.close();
    await upgrade();
    await expectUpgraded();
  });

  test('takes over a store that lacks a trigger and an index, and has them then', async () => {
    withDatabase((db) => db.exec('DROP TRIGGER events_are_not_deleted; DROP INDEX events_by_idempotency_key'));
    await upgrade();
    await expectUpgraded();
    expect(() => withDatabase((db) => db.exec('DELETE FROM events'))).toThrow('events are immutable');
  });

  test('is left to a command that writes: one that reads says so, and changes nothing', async () => {
    const environment = { DATA_DIR: directory };
    const read = await command(['audit', 'export'], environment);
    expect(read).toMatchObject({ code: 1, stdout: '' });
    expect(read.stderr).toMatch(/^plantstore: .*has schema 5, that of release 1\.0\.0: .*run plantstore upgrade.*\n$/);
    const unlock = lockDataDirectory(directory);
    expect(await command(['upgrade'], environment)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('another process of plantstore uses the data directory'),
    });
    unlock();
    const erased = await command(['erase', '--owner', 'nobody'], environment);
    expect(erased).toMatchObject({ code: 0, stdout: '{"events":0}\n' });
    expect(erased.stderr.split('\n')).toEqual([
      expect.stringContaining('release 1.0.0 and is being upgraded'),
      '0 of 571 events copied',
      '500 of 573 events folded into the plants',
      expect.stringMatching(/^the store is upgraded, after \d+ s$/),
      'nothing to erase: "nobody" has no events with content',
      '',
    ]);
    expect(await command(['upgrade'], environment)).toMatchObject({
      code: 0,
      stderr: 'there is nothing to upgrade\n',
    });
  });

  test('receipts that 1.0.0 gave still verify, that of an erased event too', async () => {
    for (const position of [4, 12, 300, 571]) {
      const file = `test/fixtures/1.0.0/${position}.receipt`;
      expect(formerFile(`${position}.receipt`).length).toBeGreaterThan(0);
      const checked = await command(['audit', 'check-receipt', file, '--key', FORMER.vkey]);
      expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining(`the event at position ${position} `) });
    }
  });
});
