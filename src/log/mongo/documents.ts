import { Binary, Long } from 'mongodb';
import { type Plant, type PlantKey, plantFields, withKey } from '../../domain/plant.ts';
import { BrokenChainError } from '../event/chain.ts';
import { decodeStored, headOf } from '../event/decode.ts';
import { type Erases, type Head, keysOf, type LoggedEvent, withKeys } from '../event/event.ts';
import { type Copy, copiesIn } from '../event/kept-bytes.ts';
import { MalformedRowError, type OwnedRow } from '../store.ts';

/** A document of `events`: an event, and the keys that it is found by. */
export interface EventDocument {
  /** The position. Its uniqueness makes an append fail that does not build on the current head. */
  readonly _id: Long;
  /** The canonical bytes of the event. */
  readonly event: Binary;
  readonly hash: Binary;
  /** The canonical bytes of the content. Missing: erased. */
  readonly content?: Binary | undefined;
  readonly erasedBy?: Long | undefined;
  readonly owner?: string | undefined;
  readonly plantId?: Long | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Of an OwnerErased event whose erasure is not complete. */
  readonly erases?: (Omit<Erases, 'key'> & { readonly key: Binary }) | undefined;
}

/** What is wrong where an `_id` of `events` is no int64. */
export const OTHER_ID =
  'a document of `events` has an _id of another type than the service writes: docs/mongodb.md says how to find it';

/** The projection of a query for events without their keys. */
export const WITHOUT_KEYS = { owner: 0, plantId: 0, idempotencyKey: 0 } as const;

/** `_id` of a plant. The owner comes first, so that the index keeps an owner's plants together and in id order. */
export interface PlantId {
  readonly owner: string;
  readonly id: Long;
}

/** A row of the read model. */
export interface PlantDocument extends Plant {
  readonly _id: PlantId;
}

/** The event as a document. The client omits undefined members. */
export function toEventDocument(logged: LoggedEvent): EventDocument {
  const { position, bytes, hash, content, erasedBy, erases } = logged;
  const { owner, plantId, idempotencyKey } = keysOf(logged);
  return {
    _id: Long.fromNumber(position),
    event: new Binary(bytes),
    hash: new Binary(hash),
    content: content && new Binary(content),
    erasedBy: erasedBy === undefined ? undefined : Long.fromNumber(erasedBy),
    ...{ owner, plantId: plantId === undefined ? undefined : Long.fromBigInt(plantId), idempotencyKey },
    erases: erases && { ...erases, key: new Binary(erases.key) },
  };
}

/** The events of a reply. `checksKeys`: compared with the keys of their documents. Throws like `toLoggedEvent`. */
export function toEvents(documents: readonly EventDocument[], checksKeys = false): LoggedEvent[] {
  const copy = copiesIn(documents.reduce((size, document) => size + sizeIn(document), 0));
  return documents.map((document) => {
    const event = toLoggedEvent(document, copy);
    return checksKeys ? withKeysOf(document, event) : event;
  });
}

/** Bytes that `toLoggedEvent` copies. */
const sizeIn = ({ event, hash, content, erases }: EventDocument): number =>
  lengthOf(event) + lengthOf(hash) + lengthOf(content) + lengthOf(erases?.key);

const lengthOf = (value: unknown): number => (value instanceof Binary ? value.length() : 0);

/** Throws BrokenChainError for a document that `toEventDocument` returns for no event. */
export function toLoggedEvent(document: EventDocument, copy: Copy = ownCopy): LoggedEvent {
  const { _id, event, hash, content, erasedBy, erases } = document;
  return decodeStored({
    position: toPosition(_id),
    bytes: bytesOf(event, copy),
    hash: bytesOf(hash, copy),
    content: bytesOf(content, copy),
    erasedBy: erasedBy === undefined ? undefined : toNumber(erasedBy),
    erases: erases && {
      ...{ owner: erases.owner, key: bytesOf(erases.key, copy) },
      ...{ isCleared: erases.isCleared === true, isPublished: erases.isPublished === true },
    },
  });
}

const MEMBERS: ReadonlySet<string> = new Set<keyof EventDocument>([
  ...(['_id', 'event', 'hash', 'content', 'erasedBy'] as const),
  ...(['owner', 'plantId', 'idempotencyKey', 'erases'] as const),
]);

/** The event of a document, compared with its keys. A member that no event has would be neither hashed nor erased. */
function withKeysOf(document: EventDocument, event: LoggedEvent): LoggedEvent {
  for (const name in document)
    if (!MEMBERS.has(name)) return { ...event, misfiled: 'it has a member that an event cannot have' };
  const { owner, plantId, idempotencyKey } = document;
  return withKeys(event, { owner, plantId: Long.isLong(plantId) ? bigintOf(plantId) : plantId, idempotencyKey });
}

/** The head of a log that ends with the event of a document. Throws BrokenChainError like `toLoggedEvent`. */
export const toHead = ({ _id, event, hash }: EventDocument): Head =>
  headOf({ position: toPosition(_id), bytes: bytesOf(event), hash: bytesOf(hash) });

function toPosition(_id: unknown): number {
  if (!Long.isLong(_id)) throw new BrokenChainError(Number(_id), OTHER_ID);
  return _id.toNumber();
}

const toNumber = (value: unknown): number => (Long.isLong(value) ? value.toNumber() : Number.NaN);

/** The driver's own conversion goes through a string and takes nine times as long. */
const bigintOf = ({ high, low }: Long): bigint => BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low >>> 0));

/** A copy of the bytes, since the driver's would keep the whole reply in memory. Any other value as it is. */
const bytesOf = (value: unknown, copy: Copy = ownCopy): unknown =>
  value instanceof Binary && value.sub_type === Binary.SUBTYPE_DEFAULT ? copy(value.value()) : value;

const ownCopy: Copy = (bytes) => new Uint8Array(bytes);

/** The row that a document holds. Throws MalformedRowError for an `_id` that `toPlantId` returns for no key. */
export function toRow(document: PlantDocument): OwnedRow {
  const { owner, id } = document._id;
  if (typeof owner !== 'string' || !Long.isLong(id)) throw new MalformedRowError('a document of `plants`');
  return withKey({ owner, id: bigintOf(id) }, document);
}

/** The row as a document. The client omits an unset text. */
export const toPlantDocument = (row: OwnedRow): PlantDocument => ({ _id: toPlantId(row), ...plantFields(row) });

/** The `_id` of a key. The order of its fields matters: MongoDB compares documents field by field. */
export const toPlantId = ({ owner, id }: PlantKey): PlantId => ({ owner, id: Long.fromBigInt(id) });
