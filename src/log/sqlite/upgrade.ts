import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { TILE_WIDTH } from '../../tlog/tile.ts';
import { BrokenChainError, headAt } from '../event/chain.ts';
import type { Head, LoggedEvent } from '../event/event.ts';
import type { Kind } from '../event/fields.ts';
import { NodeBuilder } from '../tree/nodes.ts';
import {
  erasesOf,
  erasureAfter,
  FORMER_MEMBERS,
  type FormerErasure,
  type FormerEvent,
  takenOver,
  type UpgradeStep,
} from '../upgrade.ts';
import { openReader, openWriter, prepareQuery, transaction } from './connection.ts';
import { headIn, valuesOf } from './events.ts';
import {
  checkObjects,
  createEvents,
  createTree,
  EVENTS_OBJECTS,
  FORMER_OBJECTS,
  FORMER_VERSION,
  KEYS,
  PLANTS_CHECKPOINT,
  SCHEMA_VERSION,
  versionOf,
} from './schema.ts';
import { insertEvent } from './statements.ts';
import { DATABASE_FILE } from './store.ts';

/** The new tables until they take their names, and the old events from then until they are removed. */
const NEW_EVENTS = 'events_new';
const NEW_TREE = 'tree_new';
const FORMER_EVENTS = 'events_former';

/** Events of one transaction, a whole tile of them: some milliseconds of the event loop. */
const BATCH = TILE_WIDTH;

const COLUMNS = FORMER_MEMBERS.map(({ name }) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)).join();

/** Whether a data directory has the store of 1.0.0, which `upgradeSqlite` takes over. */
export function isFormerSqlite(directory: string): boolean {
  const path = join(directory, DATABASE_FILE);
  if (!isThere(path)) return false;
  const db = openReader(path);
  try {
    return versionOf(db) === FORMER_VERSION;
  } finally {
    db.close();
  }
}

/**
 * Takes over the store of 1.0.0 in a data directory, whose lock the caller has. Does nothing to any other store, nor if
 * there is none. The events are copied into a new table, and each is verified. In one transaction the new tables take the
 * place of the old ones. Then the old events are overwritten. May end at any moment, and the next call goes on. Throws
 * when an event does not verify: then the store is still that of 1.0.0.
 */
export async function* upgradeSqlite(directory: string): AsyncGenerator<UpgradeStep> {
  const path = join(directory, DATABASE_FILE);
  if (!isThere(path)) return;
  // What a power cut takes from the end of the write-ahead log is done again.
  const db = openWriter(path, 'NORMAL');
  try {
    if (versionOf(db) === FORMER_VERSION) {
      checkObjects(db, path, FORMER_OBJECTS);
      yield* copied(db, path);
      swap(db);
    }
    if (hasTable(db, FORMER_EVENTS)) yield* removed(db);
  } finally {
    db.close();
  }
}

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

const hasTable = (db: DatabaseSync, name: string): boolean =>
  db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined;

async function* copied(db: DatabaseSync, path: string): AsyncGenerator<UpgradeStep> {
  const total = lastOf(db, 'events');
  try {
    let head = transaction(db, () => begin(db));
    const copy = copier(db, head.position);
    for (let done = -1; done < head.position; ) {
      yield { what: 'copied', done: head.position, total };
      done = head.position;
      head = transaction(db, () => copy(head));
      await turn();
    }
  } catch (error) {
    if (!(error instanceof BrokenChainError)) throw error;
    transaction(db, () => dropNew(db));
    throw new Error(
      `${path} cannot be upgraded: ${error.message}; it is as 1.0.0 left it: run plantstore audit verify of 1.0.0, and restore a backup`,
      { cause: error },
    );
  }
}

/** The new tables' end, behind which the copy goes on. */
function begin(db: DatabaseSync): Head {
  // 1.0.0 may have run since, and have erased owners.
  if (hasTable(db, NEW_EVENTS) && differs(db)) dropNew(db);
  if (!hasTable(db, NEW_EVENTS)) db.exec(`${createEvents(NEW_EVENTS)}; ${createTree(NEW_TREE)}`);
  // Nodes are made of whole tiles.
  const whole = lastOf(db, NEW_EVENTS) % TILE_WIDTH;
  db.prepare(`DELETE FROM ${NEW_EVENTS} WHERE position > ?`).run(lastOf(db, NEW_EVENTS) - whole);
  return newHead(db);
}

const newHead = (db: DatabaseSync): Head =>
  headIn(prepareQuery(db, `SELECT position, hash, event FROM ${NEW_EVENTS} ORDER BY position DESC LIMIT 1`));

const differs = (db: DatabaseSync): boolean =>
  db
    .prepare(
      `SELECT 1 FROM ${NEW_EVENTS} AS new LEFT JOIN events AS old USING (position)
       WHERE new.hash IS NOT old.hash OR new.erased_by IS NOT old.erased_by LIMIT 1`,
    )
    .get() !== undefined;

const dropNew = (db: DatabaseSync): void => db.exec(`DROP TABLE ${NEW_EVENTS}; DROP TABLE ${NEW_TREE}`);

/** Copies the next events, from a position on, and returns the new end. */
function copier(db: DatabaseSync, position: number): (head: Head) => Head {
  const read = prepareQuery(db, `SELECT ${COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ${BATCH}`);
  const insert = db.prepare(insertEvent(NEW_EVENTS));
  const insertNode = db.prepare(`INSERT INTO ${NEW_TREE} (node, hash) VALUES (?, ?)`);
  const builder = new NodeBuilder(position);
  return (before) => {
    let head = before;
    const events: LoggedEvent[] = [];
    for (const row of read.all(before.position) as unknown as Value[][]) {
      const event = takenOver(formerOf(row, head), head);
      insert.run(...valuesOf(event));
      head = headAt(event);
      events.push(event);
    }
    const { first, hashes } = builder.add(events);
    for (const [at, hash] of hashes.entries()) insertNode.run(first + at, hash);
    return head;
  };
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
  /** Of the OwnerErased event, if it is in the log. */
  readonly position: number | null;
}

const toFormerErasure = ({ owner, event_id, actor, issuer, erased_by, published }: NoteRow): FormerErasure => ({
  owner,
  eventId: event_id,
  actor,
  issuer: issuer ?? undefined,
  isErased: erased_by !== null,
  isPublished: published === 1,
});

/** Each erasure that 1.0.0 had begun stands beside its OwnerErased event, which is appended if it is not there. */
function takeErasures(db: DatabaseSync): void {
  const notes = db
    .prepare('SELECT erasures.*, position FROM erasures LEFT JOIN events USING (event_id) ORDER BY since, event_id')
    .all() as unknown as NoteRow[];
  const mark = db.prepare(
    `UPDATE ${NEW_EVENTS} SET erases_owner = ?, erases_key = ?, erases_cleared = ?, erases_published = ?
     WHERE position = ?`,
  );
  const count = db.prepare(`SELECT count(*) AS events FROM ${NEW_EVENTS} WHERE owner = ?`);
  const insert = db.prepare(insertEvent(NEW_EVENTS));
  for (const note of notes) {
    const erasure = toFormerErasure(note);
    const { owner, key, isCleared, isPublished } = erasesOf(erasure);
    const events = Number(count.get(owner)!.events);
    if (note.position !== null) mark.run(owner, key, Number(isCleared), Number(isPublished), note.position);
    else if (events > 0) insert.run(...valuesOf(erasureAfter(newHead(db), erasure, events)));
  }
}

/**
 * The new tables take the names of the old ones. The tree ends where the read model does. What an interrupted rebuild has
 * left goes.
 */
function swap(db: DatabaseSync): void {
  const rebuilt = db.prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'plants_rebuilt_*'").all();
  transaction(db, () => {
    for (const { name } of rebuilt) db.exec(`DROP TABLE ${name}`);
    takeErasures(db);
    db.exec(`
      DELETE FROM ${NEW_TREE} WHERE node >=
        ifnull((SELECT position FROM checkpoints WHERE name = '${PLANTS_CHECKPOINT}'), 0) / ${TILE_WIDTH};
      DROP TRIGGER events_are_only_erased;
      DROP TRIGGER events_are_not_deleted;
      DROP INDEX events_by_idempotency_key;
      ALTER TABLE events RENAME TO ${FORMER_EVENTS};
      ALTER TABLE ${NEW_EVENTS} RENAME TO events;
      ${EVENTS_OBJECTS};
      ${KEYS.create(KEYS.name)};
      INSERT INTO idempotency_keys SELECT owner, idempotency_key, position FROM events WHERE idempotency_key IS NOT NULL;
      DROP TABLE tree;
      ALTER TABLE ${NEW_TREE} RENAME TO tree;
      DROP TABLE erasures;
      ALTER TABLE checkpoints ADD COLUMN up_to INTEGER;
      PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
}

/** In pieces, because SQLite overwrites what is deleted: at once, the write-ahead log would have the size of the log. */
async function* removed(db: DatabaseSync): AsyncGenerator<UpgradeStep> {
  const total = lastOf(db, FORMER_EVENTS);
  const remove = db.prepare(`DELETE FROM ${FORMER_EVENTS} WHERE position <= ?`);
  for (let done = 0; done < total; await turn()) {
    yield { what: 'removed in their old form', done, total };
    done += BATCH;
    remove.run(done);
  }
  db.exec(`DROP TABLE ${FORMER_EVENTS}; PRAGMA wal_checkpoint(TRUNCATE)`);
}

const lastOf = (db: DatabaseSync, table: string): number =>
  Number(db.prepare(`SELECT ifnull(max(position), 0) AS last FROM ${table}`).get()!.last);
