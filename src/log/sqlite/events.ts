import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { searched } from '../batches.ts';
import { verifyNext } from '../event/chain.ts';
import { decodeStored, headOf } from '../event/decode.ts';
import { EMPTY_HEAD, type Head, keysOf, type LoggedEvent, sizeOf, withKeys } from '../event/event.ts';
import { RefusedAppendError, type Store, type Unfinished } from '../store.ts';
import { type Table, tableBatches } from './batches.ts';
import { appendTransaction, prepareQuery } from './connection.ts';
import { eachKey, type ReadQueue } from './read-queue.ts';

const MAX_POSITION = Number.MAX_SAFE_INTEGER;

/** Positions searched at once: a few milliseconds of the event loop. */
const SEARCH_POSITIONS = 2_000;

/** Columns of `events` that are the event. */
export const EVENT_COLUMNS =
  'position, event, hash, content, erased_by, erases_owner, erases_key, erases_cleared, erases_published';

const EVENT_WIDTH = 9;

/** Columns by which events are found; see keysOf. */
export const KEY_COLUMNS = 'owner, plant_id, idempotency_key';

/** The last event: position, hash, bytes. */
export const SELECT_HEAD = 'SELECT position, hash, event FROM events ORDER BY position DESC LIMIT 1';

/** Appends one event, by its `valuesOf`. */
const INSERT_EVENT = `INSERT INTO events (${EVENT_COLUMNS}, ${KEY_COLUMNS})
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Writes where the event of an idempotency key is: owner, key, position. */
const INSERT_KEY = 'INSERT INTO idempotency_keys VALUES (?, ?, ?)';

/** KEY_COLUMNS. An idempotency key by which the event is not found has a value that no key has. */
const KEYS_IN_USE = `owner, plant_id, iif(idempotency_key IS NULL OR EXISTS (SELECT 1 FROM idempotency_keys AS found
  WHERE (found.owner, found.idempotency_key, found.position) = (events.owner, events.idempotency_key, events.position)),
  idempotency_key, x'')`;

/** SQLite's code of a constraint. No row of this release breaks one: the head is read under the write lock. */
const CONSTRAINT = 19;

/** Throws RefusedAppendError if what somebody else made refuses the row: by an error, or by having SQLite ignore it. */
function insertRow(statement: StatementSync, ...values: SQLInputValue[]): void {
  let cause: unknown;
  try {
    if (statement.run(...values).changes === 1) return;
  } catch (error) {
    const { errcode = 0 } = error as { readonly errcode?: number };
    // An extended code has the code in its low byte.
    if ((errcode & 0xff) !== CONSTRAINT) throw error;
    cause = error;
  }
  throw new RefusedAppendError('a trigger or an index of the database keeps the event out', { cause });
}

const prepareQueries = (db: DatabaseSync) => ({
  head: prepareQuery(db, SELECT_HEAD),
  read: prepareQuery(
    db,
    `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`,
  ),
  readWithKeys: prepareQuery(
    db,
    `SELECT ${EVENT_COLUMNS}, ${KEYS_IN_USE} FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`,
  ),
  search: prepareQuery(
    db,
    `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? AND position <= ?
     AND (owner = ifnull(?, owner) AND plant_id = ifnull(?, plant_id) OR ? AND owner IS NULL AND content IS NOT NULL)
     ORDER BY position LIMIT ?`,
  ),
  named: prepareQuery(
    db,
    `SELECT ${EVENT_COLUMNS} FROM idempotency_keys AS named CROSS JOIN events USING (owner, idempotency_key, position)
     WHERE named.owner = ?1 AND named.idempotency_key = ?2
     AND position > ifnull((SELECT max(position) FROM events WHERE erases_owner = ?1), 0) ORDER BY position DESC LIMIT 1`,
  ),
  // With the plus, SQLite uses the index of these events; for the order of the positions alone, it would read all
  // events.
  unfinished: prepareQuery(db, `SELECT ${EVENT_COLUMNS} FROM events WHERE erases_owner IS NOT NULL ORDER BY +position`),
});

/**
 * The log in a database. `lookUps`: the queue of reads by key. `checkFile`: throws when the file is no longer the
 * log's.
 */
export function sqliteEvents(db: DatabaseSync, reads: ReadQueue, lookUps: ReadQueue, checkFile: () => void) {
  const queries = prepareQueries(db);
  /** Prepared by the first append: a read-only connection cannot. */
  let insert: { readonly event: StatementSync; readonly key: StatementSync } | undefined;

  function write(event: LoggedEvent): void {
    insert ??= { event: db.prepare(INSERT_EVENT), key: db.prepare(INSERT_KEY) };
    insertRow(insert.event, ...valuesOf(event));
    const { owner, idempotencyKey } = keysOf(event);
    if (idempotencyKey !== undefined) insertRow(insert.key, owner!, idempotencyKey, event.position);
  }

  const head = async () => {
    checkFile();
    return headIn(queries.head);
  };

  return {
    head,

    read(after, { to = MAX_POSITION, owner, id, erasures = false, checksKeys = false, signal } = {}) {
      if (owner !== undefined || id !== undefined)
        return searched({ head }, after, to, SEARCH_POSITIONS, (from, end) => {
          const found = eventsIn(from, (last, limit) =>
            eventsOf(queries.search, last, end, owner ?? null, id ?? null, Number(erasures), limit),
          );
          return tableBatches(reads, owner, found, signal);
        });
      const rows = (position: number, limit: number) =>
        checksKeys
          ? eventsWithKeysOf(queries.readWithKeys, position, to, limit)
          : eventsOf(queries.read, position, to, limit);
      return tableBatches(reads, undefined, eventsIn(after, rows), signal);
    },

    /**
     * Appends all events or none. After most errors the outcome is unknown: if a commit fails during its sync, the
     * recovery after a crash may still find it, unless a later append replaced it.
     */
    async append(events) {
      return appendTransaction(db, () => {
        const last = headIn(queries.head);
        if (last.position >= events[0]!.position) return 0;
        // Under the write lock, the log cannot change after this check.
        verifyNext(last, events[0]!);
        events.forEach((event, index) => {
          if (event.position !== last.position + index + 1)
            throw new RangeError(`position ${event.position} does not follow ${last.position + index}`);
          write(event);
        });
        return events.length;
      });
    },

    findByIdempotencyKeys: (keys) =>
      eachKey(lookUps, keys, ({ owner, idempotencyKey }) => eventsOf(queries.named, owner, idempotencyKey)[0]),

    async unfinished() {
      return eventsOf(queries.unfinished) as Unfinished[];
    },
  } satisfies Partial<Store>;
}

/** A value of a row. Integers are bigints, so that no digits are lost; numbers are REAL. */
type Value = bigint | number | string | Uint8Array | null;

/** All rows of a query over EVENT_COLUMNS. Throws BrokenChainError for a row that `valuesOf` returns for no event. */
export const eventsOf = (query: StatementSync, ...values: SQLInputValue[]): LoggedEvent[] =>
  (query.all(...values) as unknown as Value[][]).map(eventOf);

/** The same of a query over EVENT_COLUMNS and KEY_COLUMNS, which are compared with the events. */
const eventsWithKeysOf = (query: StatementSync, ...values: SQLInputValue[]): LoggedEvent[] =>
  (query.all(...values) as unknown as Value[][]).map((row) => {
    const [owner, plantId, idempotencyKey] = row.slice(EVENT_WIDTH).map((value) => value ?? undefined);
    return withKeys(eventOf(row), { owner, plantId, idempotencyKey });
  });

/** The events after a position that a query reads, after one and at most so many. */
const eventsIn = (start: number, read: (after: number, limit: number) => LoggedEvent[]): Table<LoggedEvent> => ({
  rows: (last, limit) => read(last?.position ?? start, limit),
  bytesOf: (events) => events.reduce((bytes, event) => bytes + sizeOf(event), 0),
});

/** The log's end, by a query for SELECT_HEAD. Throws BrokenChainError for an event that no release wrote. */
export function headIn(query: StatementSync): Head {
  const row = query.get() as unknown as readonly Value[] | undefined;
  if (row === undefined) return EMPTY_HEAD;
  const [position, hash, bytes] = row;
  return headOf({ position: Number(position), hash, bytes });
}

/** A table can lose its STRICT, and a damaged page holds any type. */
function eventOf(row: readonly Value[]): LoggedEvent {
  const [position, bytes, hash, content, erasedBy, owner, key, isCleared, isPublished] = row;
  return decodeStored({
    ...{ position: Number(position), bytes, hash },
    content: content ?? undefined,
    erasedBy: erasedBy === null ? undefined : integerOf(erasedBy),
    erases: owner === null ? undefined : { owner, key, isCleared: isCleared === 1n, isPublished: isPublished === 1n },
  });
}

const integerOf = (value: Value | undefined): number => (typeof value === 'bigint' ? Number(value) : Number.NaN);

const NO_ERASURE = [null, null, null, null];

/** The values of an event for EVENT_COLUMNS and KEY_COLUMNS. */
export function valuesOf(event: LoggedEvent): SQLInputValue[] {
  const { position, bytes, hash, content, erasedBy, erases } = event;
  const { owner, plantId, idempotencyKey } = keysOf(event);
  const own = [position, bytes, hash, content, erasedBy];
  const beside = erases && [erases.owner, erases.key, Number(erases.isCleared), Number(erases.isPublished)];
  return [...own, ...(beside ?? NO_ERASURE), owner, plantId, idempotencyKey].map((value) => value ?? null);
}
