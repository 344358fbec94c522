import { Binary, Long } from 'mongodb';
import type { Plant, PlantKey } from '../../domain/plant.ts';
import { BrokenChainError } from '../event/chain.ts';
import type { LoggedEvent } from '../event/event.ts';
import { FIELDS, type Field, type FlatEvent, type Kind } from '../event/fields.ts';
import { flattened, unflattened } from '../event/flat-event.ts';
import type { OwnedRow } from '../store.ts';

/**
 * A document of `events`: the event's members under the names of FIELDS, readable in mongosh. An erased event has no
 * content, but has `erasedBy`.
 */
export type EventDocument = {
  /** The position. Its uniqueness makes an append fail that does not build on the current head. */
  readonly _id: Long;
} & { readonly [Name in Exclude<keyof FlatEvent, 'position'>]?: DocumentValue | undefined };

type DocumentValue = string | Long | Date | Binary;

/**
 * `_id` of a plant. The owner comes first, so that the index on `_id` keeps an owner's plants together and in id order.
 */
export interface PlantId {
  readonly owner: string;
  readonly id: Long;
}

/** A row of the read model. */
export interface PlantDocument extends Plant {
  readonly _id: PlantId;
}

const POSITION = FIELDS.find(({ name }) => name === 'position')!;
const MEMBERS = FIELDS.filter((field) => field !== POSITION);

/** The event as a document. The client omits undefined members. */
export function toEventDocument(event: LoggedEvent): EventDocument {
  const flat = flattened(event);
  const document: Record<string, unknown> = { _id: Long.fromNumber(event.position) };
  for (const { name, kind } of MEMBERS) {
    const value = flat[name];
    if (value !== undefined) document[name] = toDocumentValue(kind, value);
  }
  return document as EventDocument;
}

function toDocumentValue(kind: Kind, value: unknown): DocumentValue {
  switch (kind) {
    case 'count':
      return Long.fromNumber(value as number);
    case 'int64':
      return Long.fromBigInt(value as bigint);
    case 'time':
      return new Date(value as number);
    case 'bytes':
      return new Binary(value as Uint8Array);
    case 'text':
      return value as string;
  }
}

const BY_NAME: ReadonlyMap<string, Field> = new Map(MEMBERS.map((field) => [field.name, field]));

/** Throws BrokenChainError for a document that `toEventDocument` returns for no event. */
export function toLoggedEvent(document: EventDocument): LoggedEvent {
  try {
    const flat: Record<string, unknown> = { position: fromDocumentValue(POSITION, document._id) };
    for (const name in document) {
      if (name === '_id') continue;
      const field = BY_NAME.get(name);
      if (field === undefined) throw new RangeError('it has a member that no event has');
      flat[name] = fromDocumentValue(field, document[name as keyof EventDocument]);
    }
    return unflattened(flat);
  } catch (error) {
    throw new BrokenChainError(Number(document._id), (error as Error).message);
  }
}

function fromDocumentValue(field: Field, value: unknown): unknown {
  switch (field.kind) {
    case 'count':
      if (Long.isLong(value)) return value.toNumber();
      break;
    case 'int64':
      if (Long.isLong(value)) return bigintOf(value);
      break;
    case 'time':
      if (value instanceof Date) return value.getTime();
      break;
    case 'bytes':
      if (value instanceof Binary && value.sub_type === Binary.SUBTYPE_DEFAULT) return bytesOf(value);
      break;
    case 'text':
      if (typeof value === 'string') return value;
  }
  throw wrongType(field);
}

const wrongType = ({ name }: Field) => new RangeError(`its member ${name} has another type than an event has`);

/** The driver's own conversion goes through a string and takes nine times as long. */
const bigintOf = ({ high, low }: Long): bigint => BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low >>> 0));

/** A copy of the bytes: the driver's bytes would keep the whole reply in memory. */
const bytesOf = (binary: Binary): Uint8Array => new Uint8Array(binary.value());

/** The row that a document holds. */
export const toRow = ({ _id: { owner, id }, name, tag }: PlantDocument): OwnedRow => ({
  owner,
  id: id.toBigInt(),
  name,
  tag,
});

/** The row as a document. The client omits an unset tag. */
export const toPlantDocument = ({ owner, id, name, tag }: OwnedRow): PlantDocument => ({
  _id: toPlantId({ owner, id }),
  name,
  tag,
});

/** The `_id` of a key. The order of its fields matters: MongoDB compares documents field by field. */
export const toPlantId = ({ owner, id }: PlantKey): PlantId => ({ owner, id: Long.fromBigInt(id) });
