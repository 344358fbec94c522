import { Binary } from 'mongodb';
import type { Plant, PlantKey } from '../../domain/plant.ts';
import type { LoggedEvent } from '../event.ts';
import type { PlantRow } from '../store.ts';

/** An event as it stands in `events`. Integers are int64 in the database and bigint here, whatever their size. */
export interface EventDocument {
  /** The position. Its uniqueness is what makes an append onto a head that is no longer the head fail. */
  readonly _id: bigint;
  readonly type: 'PlantAdded' | 'PlantDeleted';
  readonly owner: string;
  readonly actor: string;
  readonly plantId: bigint;
  readonly name?: string | undefined;
  readonly tag?: string | undefined;
  readonly time: Date;
  readonly eventId: string;
  readonly hash: Binary;
}

/** A row of the read model in `plants`. The owner comes first, so that the index on `_id` holds an owner's plants in id order. */
export interface PlantDocument {
  readonly _id: PlantKey;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** The event as a document; an unset tag is left out by the client. */
export function toEventDocument({ position, eventId, time, event, hash }: LoggedEvent): EventDocument {
  const { type, owner, actor, plantId } = event;
  const what = type === 'PlantAdded' ? { name: event.name, tag: event.tag } : {};
  return {
    _id: BigInt(position),
    type,
    owner,
    actor,
    plantId,
    ...what,
    time: new Date(time),
    eventId,
    hash: new Binary(hash),
  };
}

/** The event that a document holds. */
export function toLoggedEvent({ _id, type, owner, actor, plantId, name, tag, ...rest }: EventDocument): LoggedEvent {
  return {
    position: Number(_id),
    eventId: rest.eventId,
    time: rest.time.getTime(),
    event: type === 'PlantAdded' ? { type, owner, actor, plantId, name: name!, tag } : { type, owner, actor, plantId },
    hash: bytesOf(rest.hash),
  };
}

/** A copy of the bytes: the driver's are a part of the whole reply, which would stay in memory with them. */
export const bytesOf = (binary: Binary): Uint8Array => Uint8Array.from(binary.value());

/** The plant that a document holds. */
export const toPlant = ({ name, tag }: PlantDocument): Plant => ({ name, tag });

/** The row that a document holds. */
export const toPlantRow = ({ _id, name, tag }: PlantDocument): PlantRow => ({ id: _id.id, name, tag });

/** `_id` of a plant. The order of its fields counts: MongoDB compares documents field by field. */
export const toPlantId = ({ owner, id }: PlantKey): PlantKey => ({ owner, id });
