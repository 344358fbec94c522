import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { PlantEvent } from '../../domain/events.ts';
import type { Plant } from '../../domain/plant.ts';
import { isTraceparent } from '../../domain/trace-context.ts';
import { BrokenChainError } from '../chain.ts';
import type { LoggedEvent } from '../event.ts';
import type { PlantRow } from '../store.ts';

/** Columns of `events` in the order in which they are written and read. */
export const EVENT_COLUMNS =
  'position, type, owner, actor, plant_id, name, tag, idempotency_key, traceparent, time, event_id, hash';

/** A parameter for each of EVENT_COLUMNS. */
export const EVENT_VALUES = '?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?';

/** Columns of `plants` that make a PlantRow. */
export const PLANT_COLUMNS = 'id, name, tag';

type EventValues = [
  position: bigint,
  type: string,
  owner: string,
  actor: string,
  plantId: bigint,
  name: string | null,
  tag: string | null,
  idempotencyKey: string | null,
  traceparent: string | null,
  time: bigint,
  eventId: string,
  hash: Uint8Array,
];

/** Prepares a query whose rows come as arrays (2.4 times as fast as objects, measured) with every integer exact. */
export function prepareQuery(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return statement;
}

/** All rows of a query over EVENT_COLUMNS. Throws BrokenChainError for a row that `valuesOf` gives for no event. */
export const eventsOf = (query: StatementSync, ...values: SQLInputValue[]): LoggedEvent[] =>
  (query.all(...values) as unknown as EventValues[]).map(
    ([position, type, owner, actor, plantId, name, tag, idempotencyKey, traceparent, time, eventId, hash]) => ({
      position: Number(position),
      eventId,
      time: Number(time),
      event: plantEventOf(
        position,
        type,
        owner,
        actor,
        plantId,
        name,
        tag,
        idempotencyKey ?? undefined,
        traceparent ?? undefined,
      ),
      hash,
    }),
  );

function plantEventOf(
  position: bigint,
  type: string,
  owner: string,
  actor: string,
  plantId: bigint,
  name: string | null,
  tag: string | null,
  idempotencyKey: string | undefined,
  traceparent: string | undefined,
): PlantEvent {
  if (idempotencyKey === '') throw new BrokenChainError(Number(position), 'no idempotency key is empty');
  if (traceparent !== undefined && !isTraceparent(traceparent))
    throw new BrokenChainError(Number(position), 'its traceparent is malformed');
  if (type === 'PlantAdded' && name !== null)
    return { type, owner, actor, plantId, name, tag: tag ?? undefined, idempotencyKey, traceparent };
  if (type === 'PlantDeleted' && name === null && tag === null)
    return { type, owner, actor, plantId, idempotencyKey, traceparent };
  throw new BrokenChainError(Number(position), `no ${type} has this name and tag`);
}

/** The values of an event for EVENT_COLUMNS. */
export function valuesOf({ position, eventId, time, event, hash }: LoggedEvent) {
  const { name, tag } = event.type === 'PlantAdded' ? event : { name: null, tag: null };
  const { type, owner, actor, plantId, idempotencyKey = null, traceparent = null } = event;
  return [position, type, owner, actor, plantId, name, tag ?? null, idempotencyKey, traceparent, time, eventId, hash];
}

/** All rows of a query over PLANT_COLUMNS for an owner, the ids that it is to be above (undefined: all), and how many. */
export const plantsOf = (query: StatementSync, owner: string, after: bigint | undefined, limit: number): PlantRow[] =>
  (query.all(owner, after ?? -Infinity, limit) as unknown as [bigint, string, string | null][]).map(
    ([id, name, tag]) => ({ id, name, tag: tag ?? undefined }),
  );

/** The row of a query for name and tag, if it has one. */
export function plantOf(query: StatementSync, owner: string, id: bigint): Plant | undefined {
  const row = query.get(owner, id) as [string, string | null] | undefined;
  return row === undefined ? undefined : { name: row[0], tag: row[1] ?? undefined };
}
