import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { BrokenChainError } from '../event/chain.ts';
import type { LoggedEvent } from '../event/event.ts';
import { FIELDS, type FlatEvent, type Kind } from '../event/fields.ts';
import { flattened, unflattened } from '../event/flat-event.ts';
import { sizeOf } from '../tail/tail.ts';
import type { Table } from './batches.ts';

/** Columns of `events` in the order of writes and reads. */
export const EVENT_COLUMNS = FIELDS.map(({ column }) => column).join(', ');

/** A parameter for each of EVENT_COLUMNS. */
export const EVENT_VALUES = FIELDS.map(() => '?').join(', ');

/** A value of a row. Integers are bigints, so that no digits are lost; numbers are REAL. */
type Value = bigint | number | string | Uint8Array | null;

/** All rows of a query over EVENT_COLUMNS. Throws BrokenChainError for a row that `valuesOf` returns for no event. */
export const eventsOf = (query: StatementSync, ...values: SQLInputValue[]): LoggedEvent[] =>
  (query.all(...values) as unknown as Value[][]).map(eventOf);

/** The events that a query reads, after a position and at most so many. */
export const eventsIn = (rows: (after: number, limit: number) => LoggedEvent[]): Table<LoggedEvent, number> => ({
  rows,
  keyOf: ({ position }) => position,
  bytesOf: (events) => events.reduce((bytes, event) => bytes + sizeOf(event), 0),
});

function eventOf(row: readonly Value[]): LoggedEvent {
  const flat: Record<string, unknown> = {};
  let misfit: keyof FlatEvent | undefined;
  for (let index = 0; index < FIELDS.length; index++) {
    const value = row[index];
    if (value === null) continue;
    const { name, kind } = FIELDS[index]!;
    if (!isOfKind(kind, value!)) misfit ??= name;
    flat[name] = kind === 'count' || kind === 'time' ? Number(value) : value;
  }
  try {
    if (misfit !== undefined) throw new RangeError(`its member ${misfit} has another type than an event has`);
    return unflattened(flat as FlatEvent);
  } catch (error) {
    throw new BrokenChainError(Number(flat.position), (error as Error).message);
  }
}

/** Whether a value has the type of its column. A table can lose its STRICT, and a damaged page holds any type. */
function isOfKind(kind: Kind, value: Value): boolean {
  if (kind === 'text') return typeof value === 'string';
  return kind === 'bytes' ? value instanceof Uint8Array : typeof value === 'bigint';
}

/** The values of an event for EVENT_COLUMNS. */
export function valuesOf(event: LoggedEvent): SQLInputValue[] {
  const flat = flattened(event);
  return FIELDS.map(({ name }) => flat[name] ?? null);
}
