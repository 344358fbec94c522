import { Binary, Long } from 'mongodb';
import type { Plant, PlantKey } from '../../domain/plant.ts';
import type { LoggedEvent } from '../event.ts';
import type { PlantRow } from '../store.ts';

/** An event as it stands in `events`. */
export interface EventDocument {
  /** The position. Its uniqueness is what makes an append fail that builds on what is no longer the head. */
  readonly _id: Long;
  readonly type: 'PlantAdded' | 'PlantDeleted';
  readonly owner: string;
  readonly actor: string;
  readonly plantId: Long;
  readonly name?: string | undefined;
  readonly tag?: string | undefined;
  readonly time: Date;
  readonly eventId: string;
  readonly hash: Binary;
}

/** `_id` of a plant. The owner comes first, so that the index on `_id` holds an owner's plants together and in id order. */
export interface PlantId {
  readonly owner: string;
  readonly id: Long;
}

/** A row of the read model in `plants`. */
export interface PlantDocument {
  readonly _id: PlantId;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** The event as a document; an unset tag is left out by the client. */
export function toEventDocument({ position, eventId, time, event, hash }: LoggedEvent): EventDocument {
  const { type, owner, actor } = event;
  return {
    _id: Long.fromNumber(position),
    type,
    owner,
    actor,
    plantId: Long.fromBigInt(event.plantId),
    ...(type === 'PlantAdded' ? { name: event.name, tag: event.tag } : {}),
    time: new Date(time),
    eventId,
    hash: new Binary(hash),
  };
}

/** The event that a document holds. */
export function toLoggedEvent(document: EventDocument): LoggedEvent {
  const { type, owner, actor, name, tag } = document;
  const plantId = document.plantId.toBigInt();
  return {
    position: document._id.toNumber(),
    eventId: document.eventId,
    time: document.time.getTime(),
    event: type === 'PlantAdded' ? { type, owner, actor, plantId, name: name!, tag } : { type, owner, actor, plantId },
    hash: bytesOf(document.hash),
  };
}

/** A copy of the bytes: the driver's are a part of the whole reply, which would stay in memory with them. */
export const bytesOf = (binary: Binary): Uint8Array => Uint8Array.from(binary.value());

/** The plant that a document holds. */
export const toPlant = ({ name, tag }: PlantDocument): Plant => ({ name, tag });

/** The row that a document holds. */
export const toPlantRow = ({ _id, name, tag }: PlantDocument): PlantRow => ({ id: _id.id.toBigInt(), name, tag });

/** The `_id` of a key. The order of its fields counts: MongoDB compares documents field by field. */
export const toPlantId = ({ owner, id }: PlantKey): PlantId => ({ owner, id: Long.fromBigInt(id) });
