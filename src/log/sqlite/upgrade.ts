import { realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { SQLITE_BUSY } from '../../file-lock.ts';
import { BrokenChainError, headAt } from '../event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../event/event.ts';
import type { Kind } from '../event/fields.ts';
import type { Store } from '../store.ts';
import {
  erasureAfter,
  FORMER_MEMBERS,
  type FormerErasure,
  type FormerEvent,
  folded,
  type Repair,
  takenOver,
  type UpgradeStep,
  withErases,
} from '../upgrade.ts';
import { sync } from './backup.ts';
import { openReader, openWriter, prepareQuery } from './connection.ts';
import { IN_USE } from './damage.ts';
import { FORMER_VERSION, versionOf } from './schema.ts';
import { DATABASE_FILE, openSqlite } from './store.ts';

/** The folder beside the old file with the new store, until its file takes the place of the old one. */
const NEW = 'upgrade';

/** Events of one transaction: some milliseconds of the event loop. */
const BATCH = 256;

const COLUMNS = FORMER_MEMBERS.map(({ name }) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)).join();

/** Whether a data directory has the store of 1.0.0, which `upgradeSqlite` takes over. */
export function isFormerSqlite(directory: string): boolean {
  const path = join(directory, DATABASE_FILE);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
  const db = openReader(path);
  try {
    return versionOf(db) === FORMER_VERSION;
  } finally {
    db.close();
  }
}

/**
 * Takes over the store of 1.0.0 in a data directory, whose lock the caller has. Does nothing to any other store, nor if
 * there is none. The events are appended to a new store, and each is verified; the read model is made from them, by
 * `repair`. Then the file of the new store takes the place of the old one. May end at any moment, and the next call begins
 * again. Throws when an event does not verify, or another program reads the old store at the end: then it is still that of
 * 1.0.0.
 */
export async function* upgradeSqlite(directory: string, repair: Repair): AsyncGenerator<UpgradeStep> {
  if (!isFormerSqlite(directory)) return;
  // The file itself: beside a symbolic link, the old store would stay where the link leads.
  const path = realpathSync(join(directory, DATABASE_FILE));
  const folder = join(dirname(path), NEW);
  const db = openWriter(path, 'FULL');
  try {
    yield* copied(db, folder, repair);
    keepLogId(db, folder);
    closeJournal(db, path);
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
  renameSync(join(folder, DATABASE_FILE), path);
  sync(dirname(path));
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

/** Appends the events to the new store. */
async function* appended(db: DatabaseSync, store: Store): AsyncGenerator<UpgradeStep> {
  const read = prepareQuery(db, `SELECT ${COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ${BATCH}`);
  const total = Number(db.prepare('SELECT ifnull(max(position), 0) AS last FROM events').get()!.last);
  const notes = notesIn(db);
  let head = EMPTY_HEAD;
  for (; head.position < total; await turn()) {
    yield { what: 'copied', done: head.position, total };
    const events: LoggedEvent[] = [];
    for (const row of read.all(head.position) as unknown as Value[][]) {
      const event = takenOver(formerOf(row, head), head);
      events.push(withErases(event, notes));
      head = headAt(event);
    }
    await store.append(events);
  }
  for (const note of notes) {
    if (note.position !== undefined || note.events === 0) continue;
    const event = erasureAfter(head, note);
    await store.append([event]);
    head = headAt(event);
  }
}

function keepLogId(db: DatabaseSync, folder: string): void {
  db.prepare('ATTACH ? AS new').run(join(folder, DATABASE_FILE));
  db.exec('DELETE FROM new.log; INSERT INTO new.log SELECT id FROM main.log; DETACH new');
}

/** Ends the write-ahead log, which must not stand beside another file. SQLite refuses while another program reads it. */
function closeJournal(db: DatabaseSync, path: string): void {
  try {
    if (db.prepare('PRAGMA journal_mode = DELETE').get()!.journal_mode === 'delete') return;
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
  }
  throw new Error(`${path}${IN_USE}`);
}

/** A value of a row. Integers are bigints, so that no digits are lost; numbers are REAL. */
type Value = bigint | number | string | Uint8Array | null;

function formerOf(row: readonly Value[], head: Head): FormerEvent {
  const former: Record<string, unknown> = {};
  for (const [index, { name, kind }] of FORMER_MEMBERS.entries()) {
    const value = row[index] ?? undefined;
    if (value !== undefined && !isOfKind(kind, value))
      throw new BrokenChainError(head.position + 1, `its member ${name} has another type than an event has`);
    former[name] = value !== undefined && (kind === 'count' || kind === 'time') ? Number(value) : value;
  }
  return former;
}

/** Whether a value has the type of its column. A table can lose its STRICT, and a damaged page holds any type. */
function isOfKind(kind: Kind, value: Value): boolean {
  if (kind === 'text') return typeof value === 'string';
  return kind === 'bytes' ? value instanceof Uint8Array : typeof value === 'bigint';
}

interface NoteRow {
  readonly owner: string;
  readonly event_id: string;
  readonly actor: string;
  readonly issuer: string | null;
  readonly erased_by: number | null;
  readonly published: number;
}

const notesIn = (db: DatabaseSync): FormerErasure[] =>
  (db.prepare('SELECT * FROM erasures ORDER BY since, event_id').all() as unknown as NoteRow[]).map(
    ({ owner, event_id, actor, issuer, erased_by, published }) => ({
      ...{ owner, eventId: event_id, actor, issuer: issuer ?? undefined, position: undefined, events: 0 },
      ...{ isErased: erased_by !== null, isPublished: published === 1 },
    }),
  );
