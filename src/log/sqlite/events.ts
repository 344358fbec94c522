import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { BrokenChainError } from '../event/chain.ts';
import { decodeStored, headOf } from '../event/decode.ts';
import { EMPTY_HEAD, type Erases, type Head, keysOf, type LoggedEvent, withKeys } from '../event/event.ts';
import { sizeOf } from '../tail/tail.ts';
import type { Table } from './batches.ts';

/** Columns of `events` that are the event. */
export const EVENT_COLUMNS =
  'position, event, hash, content, erased_by, erases_owner, erases_key, erases_cleared, erases_published';

/** Number of EVENT_COLUMNS. */
const EVENT_WIDTH = 9;

/** Columns by which events are found; see EventKeys. */
export const KEY_COLUMNS = 'owner, plant_id, idempotency_key';

/** A value of a row. Integers are bigints, so that no digits are lost; numbers are REAL. */
type Value = bigint | number | string | Uint8Array | null;

/** All rows of a query over EVENT_COLUMNS. Throws BrokenChainError for a row that `valuesOf` returns for no event. */
export const eventsOf = (query: StatementSync, ...values: SQLInputValue[]): LoggedEvent[] =>
  (query.all(...values) as unknown as Value[][]).map(eventOf);

/** The same of a query over EVENT_COLUMNS and KEY_COLUMNS, which are compared with the events. */
export const eventsWithKeysOf = (query: StatementSync, ...values: SQLInputValue[]): LoggedEvent[] =>
  (query.all(...values) as unknown as Value[][]).map((row) => {
    const [owner, plantId, idempotencyKey] = row.slice(EVENT_WIDTH).map((value) => value ?? undefined);
    return withKeys(eventOf(row), { owner, plantId, idempotencyKey });
  });

/** The events that a query reads, after a position and at most so many. */
export const eventsIn = (rows: (after: number, limit: number) => LoggedEvent[]): Table<LoggedEvent, number> => ({
  rows,
  keyOf: ({ position }) => position,
  bytesOf: (events) => events.reduce((bytes, event) => bytes + sizeOf(event), 0),
});

/** The log's end, by a query for SELECT_HEAD. Throws BrokenChainError for an event that no release wrote. */
export function headIn(query: StatementSync): Head {
  const row = query.get() as unknown as readonly Value[] | undefined;
  if (row === undefined) return EMPTY_HEAD;
  const [position, hash, bytes] = [Number(row[0]), row[1], row[2]];
  if (!isBytes(hash) || !isBytes(bytes)) throw otherType(position);
  return headOf({ position, hash, bytes });
}

function eventOf([at, bytes, hash, content, erasedBy, ...erases]: readonly Value[]): LoggedEvent {
  const position = Number(at);
  // A table can lose its STRICT, and a damaged page holds any type.
  if (!isBytes(bytes) || !isBytes(hash)) throw otherType(position);
  if (!(content === null || isBytes(content))) throw otherType(position);
  if (!(erasedBy === null || typeof erasedBy === 'bigint')) throw otherType(position);
  return decodeStored({
    ...{ position, bytes, hash },
    content: content ?? undefined,
    erasedBy: erasedBy === null ? undefined : Number(erasedBy),
    erases: erasesOf(position, erases),
  });
}

function erasesOf(position: number, [owner, key, isCleared, isPublished]: readonly Value[]): Erases | undefined {
  if (owner === null) return undefined;
  if (typeof owner !== 'string' || !isBytes(key)) throw otherType(position);
  return { owner, key, isCleared: isCleared === 1n, isPublished: isPublished === 1n };
}

const otherType = (position: number) => new BrokenChainError(position, 'a column has the wrong type');

const isBytes = (value: Value | undefined): value is Uint8Array => value instanceof Uint8Array;

const NOBODY = [null, null, null, null];

/** The values of an event for EVENT_COLUMNS and KEY_COLUMNS. */
export function valuesOf(event: LoggedEvent): SQLInputValue[] {
  const { position, bytes, hash, content, erasedBy, erases } = event;
  const { owner, plantId, idempotencyKey } = keysOf(event);
  const own = [position, bytes, hash, content, erasedBy];
  const beside = erases && [erases.owner, erases.key, Number(erases.isCleared), Number(erases.isPublished)];
  return [...own, ...(beside ?? NOBODY), owner, plantId, idempotencyKey].map((value) => value ?? null);
}
