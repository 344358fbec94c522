import { Binary, Long } from 'mongodb';
import type { PlantEvent } from '../../domain/events.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { isTraceparent } from '../../domain/trace-context.ts';
import { BrokenChainError } from '../chain.ts';
import type { LoggedEvent } from '../event.ts';
import type { OwnedRow } from '../store.ts';

/** An event as it stands in `events`. */
export interface EventDocument {
  /** The position. Its uniqueness is what makes an append fail that builds on what is no longer the head. */
  readonly _id: Long;
  readonly type: PlantEvent['type'];
  readonly owner: string;
  readonly actor: string;
  readonly plantId: Long;
  /** PlantAdded only. */
  readonly name?: string;
  /** PlantAdded only, and only if it has one. */
  readonly tag?: string | undefined;
  /** Only if it has one. */
  readonly idempotencyKey?: string | undefined;
  /** Only if it has one. */
  readonly traceparent?: string | undefined;
  readonly time: Date;
  readonly eventId: string;
  readonly hash: Binary;
}

/** `_id` of a plant. The owner comes first, so that the index on `_id` holds an owner's plants together and in id order. */
export interface PlantId {
  readonly owner: string;
  readonly id: Long;
}

/** A row of the read model. */
export interface PlantDocument {
  readonly _id: PlantId;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** The event as a document; what is undefined is left out by the client. */
export function toEventDocument({ position, eventId, time, event, hash }: LoggedEvent): EventDocument {
  const { type, owner, actor, idempotencyKey, traceparent } = event;
  return {
    _id: Long.fromNumber(position),
    type,
    owner,
    actor,
    plantId: Long.fromBigInt(event.plantId),
    ...(type === 'PlantAdded' ? { name: event.name, tag: event.tag } : {}),
    idempotencyKey,
    traceparent,
    time: new Date(time),
    eventId,
    hash: new Binary(hash),
  };
}

/** The event that a document holds. Throws BrokenChainError for what is not exactly what `toEventDocument` gives for some event. */
export function toLoggedEvent(document: EventDocument): LoggedEvent {
  const { _id, plantId, time, eventId, hash, ...rest } = document;
  const position = Number(_id);
  const exact =
    Long.isLong(_id) &&
    Long.isLong(plantId) &&
    time instanceof Date &&
    typeof eventId === 'string' &&
    hash instanceof Binary &&
    hash.sub_type === Binary.SUBTYPE_DEFAULT;
  if (!exact) throw new BrokenChainError(position, 'a field of it has another type than an event has');
  return {
    position,
    eventId,
    time: time.getTime(),
    event: toPlantEvent(position, plantId.toBigInt(), rest),
    hash: bytesOf(hash),
  };
}

type Rest = Omit<EventDocument, '_id' | 'plantId' | 'time' | 'eventId' | 'hash'>;

function toPlantEvent(position: number, plantId: bigint, rest: Rest): PlantEvent {
  const { type, owner, actor, name, tag, idempotencyKey, traceparent, ...more } = rest;
  const isText = (value: unknown) => value === undefined || typeof value === 'string';
  const exact =
    typeof owner === 'string' &&
    typeof actor === 'string' &&
    isText(idempotencyKey) &&
    idempotencyKey !== '' &&
    (traceparent === undefined || isTraceparent(traceparent)) &&
    Object.keys(more).length === 0;
  if (exact && type === 'PlantAdded' && name !== undefined && isText(name) && isText(tag))
    return { type, owner, actor, plantId, name, tag, idempotencyKey, traceparent };
  if (exact && type === 'PlantDeleted' && name === undefined && tag === undefined)
    return { type, owner, actor, plantId, idempotencyKey, traceparent };
  throw new BrokenChainError(position, `no ${type} has these fields`);
}

/** A copy of the bytes: the driver's are a part of the whole reply, which would stay in memory with them. */
const bytesOf = (binary: Binary): Uint8Array => Uint8Array.from(binary.value());

/** The row that a document holds. */
export const toRow = ({ _id: { owner, id }, name, tag }: PlantDocument): OwnedRow => ({
  owner,
  id: id.toBigInt(),
  name,
  tag,
});

/** The row as a document; an unset tag is left out by the client. */
export const toPlantDocument = ({ owner, id, name, tag }: OwnedRow): PlantDocument => ({
  _id: toPlantId({ owner, id }),
  name,
  tag,
});

/** The `_id` of a key. The order of its fields counts: MongoDB compares documents field by field. */
export const toPlantId = ({ owner, id }: PlantKey): PlantId => ({ owner, id: Long.fromBigInt(id) });
