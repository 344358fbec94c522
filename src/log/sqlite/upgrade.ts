import { existsSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { IN_USE, SQLITE_BUSY, sync } from '../../files.ts';
import { BrokenChainError } from '../event/chain.ts';
import { PUBLISHER_LEASE, type Store } from '../store.ts';
import {
  appendErasures,
  type FormerErasure,
  type FormerEvent,
  type FormerLog,
  folded,
  type Repair,
  takenOver,
  type UpgradeStep,
  walked,
} from '../upgrade.ts';
import { BUSY_TIMEOUT, openWriter, prepareQuery } from './connection.ts';
import { FORMER_VERSION, versionOf } from './schema.ts';
import { DATABASE_FILE, openSqlite } from './store.ts';

/** The folder beside the old file with the new store, until its file takes the place of the old one. */
const NEW_FOLDER = 'upgrade';

/** Events of one transaction: some milliseconds of the event loop. */
const BATCH_EVENTS = 256;

/** Whether a data directory has the store of 1.0.0, which `upgradeSqlite` takes over. */
export function isFormerSqlite(directory: string): boolean {
  const path = join(directory, DATABASE_FILE);
  if (!existsSync(path)) return false;
  // Only who may write rolls back what a process began that was cut short while it changed the journal mode.
  const wasCutShort = existsSync(`${realpathSync(path)}-journal`);
  using db = new DatabaseSync(path, { readOnly: !wasCutShort, timeout: BUSY_TIMEOUT });
  return versionOf(db) === FORMER_VERSION;
}

/**
 * Takes over the store of 1.0.0 in a data directory, whose lock the caller has. Does nothing to any other store, nor if
 * there is none. The events are appended to a new store, and each is verified; the read model is made from them, by
 * `repair`. Then the file of the new store takes the place of the old one. May end at any moment, and the next call
 * begins again. Throws when an event does not verify, or another program reads either file at the end: then it is still
 * that of 1.0.0.
 */
export async function* upgradeSqlite(directory: string, repair: Repair): AsyncGenerator<UpgradeStep> {
  if (!isFormerSqlite(directory)) return;
  // The file itself: beside a symbolic link, the old store would stay where the link leads.
  const path = realpathSync(join(directory, DATABASE_FILE));
  const folder = join(dirname(path), NEW_FOLDER);
  const db = openWriter(path);
  try {
    yield* copied(db, folder, repair);
    finish(db, path, join(folder, DATABASE_FILE));
  } catch (error) {
    if (!(error instanceof BrokenChainError)) throw error;
    rmSync(folder, { recursive: true });
    throw new Error(
      `${path} cannot be upgraded: ${error.message}; it is as 1.0.0 left it: run plantstore audit verify of 1.0.0, and restore a backup`,
      { cause: error },
    );
  } finally {
    db.close();
  }
  // First of all that the journals are gone: those of the old file would be rolled back in the new one.
  await sync(dirname(path));
  renameSync(join(folder, DATABASE_FILE), path);
  await sync(dirname(path));
  rmSync(folder, { recursive: true });
}

async function* copied(db: DatabaseSync, folder: string, repair: Repair): AsyncGenerator<UpgradeStep> {
  // What a call that was interrupted has left: 1.0.0 may have erased owners since.
  rmSync(folder, { recursive: true, force: true });
  const store = openSqlite(folder);
  try {
    yield* appended(db, store);
    const { position: total } = await store.head();
    // Whatever the rows are: the repair makes them those of this checkpoint.
    await store.advance(0, total, { deletes: [], inserts: [] }, { first: 0, hashes: [] });
    yield* folded(store, repair);
  } finally {
    await store.close();
  }
}

async function* appended(db: DatabaseSync, store: Store): AsyncGenerator<UpgradeStep> {
  const next = prepareQuery(db, `SELECT * FROM events WHERE position > ? ORDER BY position LIMIT ${BATCH_EVENTS}`);
  const names = next.columns().map(({ name }) => name.replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase()));
  const log: FormerLog<FormerEvent> = {
    total: Number(db.prepare('SELECT ifnull(max(position), 0) AS last FROM events').get()!.last),
    read: async (after) => (next.all(after) as unknown as SQLOutputValue[][]).map((row) => formerOf(names, row)),
    eventOf: takenOver,
  };
  const notes = notesIn(db);
  const end = yield* walked(log, notes, 'copied', (events) => store.append(events));
  await appendErasures(store, end, notes);
}

/**
 * Keeps the id of the log, and whether it was published, and ends both write-ahead logs: the files lack what they hold,
 * and are about to move.
 */
function finish(db: DatabaseSync, path: string, copy: string): void {
  db.prepare('ATTACH ? AS new').run(copy);
  db.exec('DELETE FROM new.log; INSERT INTO new.log SELECT id FROM main.log');
  db.prepare('INSERT INTO new.leases SELECT * FROM main.leases WHERE name = ?').run(PUBLISHER_LEASE);
  closeJournal(db, 'new', copy);
  closeJournal(db, 'main', path);
}

/** SQLite refuses while another program reads the file, or its disk is full. */
function closeJournal(db: DatabaseSync, name: 'main' | 'new', path: string): void {
  try {
    if (db.prepare(`PRAGMA ${name}.journal_mode = DELETE`).get()!.journal_mode === 'delete') return;
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
  }
  throw new Error(`${path}${IN_USE}`);
}

const formerOf = (names: readonly string[], row: readonly SQLOutputValue[]): FormerEvent =>
  Object.fromEntries(names.map((name, at) => [name, row[at]]).filter(([, value]) => value !== null));

const NOTES = `SELECT owner, event_id AS eventId, actor, issuer, erased_by IS NOT NULL AS isErased, published AS isPublished
  FROM erasures ORDER BY since, event_id`;

const notesIn = (db: DatabaseSync): FormerErasure[] =>
  (db.prepare(NOTES).all() as unknown as FormerErasure[]).map(({ issuer, isErased, isPublished, ...note }) => ({
    ...note,
    ...{ issuer: issuer ?? undefined, isErased: Boolean(isErased), isPublished: Boolean(isPublished) },
    ...{ position: undefined, events: 0 },
  }));
