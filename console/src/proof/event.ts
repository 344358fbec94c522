import type { Bytes } from './bytes.ts';
import { NotVerified } from './outcome.ts';
import { type FieldRules, Message } from './wire.ts';

/** An event as the log has it: that something happened, and when. */
export interface LogEvent {
  readonly position: number;
  readonly eventId: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly type: string;
  /** SHA-256 of its content. */
  readonly commitment: Bytes;
  /** Of OwnerErased: how many events before it lose their content. */
  readonly erased: number;
}

/** The content of an event. */
export interface EventContent {
  readonly salt: Bytes;
  /** Empty: the event names no owner. */
  readonly owner: string;
  readonly actor: string;
  /** Empty: not known. */
  readonly issuer: string;
  /** Empty: none. */
  readonly idempotencyKey: string;
  /** Empty: none. */
  readonly traceparent: string;
  /** The plant that it is about. */
  readonly plant?: { readonly id: bigint; readonly name?: string; readonly tag?: string };
}

/** An event in the form that the service sends: plantstore.v1.Record. */
export interface EventRecord {
  /** The canonical bytes of the event. */
  readonly event: Bytes;
  /** The canonical bytes of its content; undefined if it is erased or not shown. */
  readonly content: Bytes | undefined;
  /** Position of the event that erased it; 0: none. */
  readonly erasedBy: number;
}

const SALT = 16;
const DIGEST = 32;
/** Bytes of the field `hash`, the last of an Event that has one: a byte of tag, one of length, and the hash. */
const HASH_FIELD = 2 + DIGEST;

const number = { kind: 'number' } as const;
const bytes = { kind: 'bytes' } as const;
const needed = { kind: 'bytes', required: true } as const;

const EVENT: FieldRules = {
  1: { kind: 'number', required: true },
  2: needed,
  3: { kind: 'bytes', required: true, present: true },
  4: needed,
  5: needed,
  6: number,
};
const TIMESTAMP: FieldRules = { 1: number, 2: number };
const CONTENT: FieldRules = {
  ...{ 1: needed, 2: bytes, 3: bytes, 4: bytes, 5: bytes, 6: bytes },
  ...{ 7: { kind: 'bytes', present: true }, 8: { kind: 'bytes', present: true } },
};
const ADDED: FieldRules = { 1: number, 2: bytes, 3: { kind: 'bytes', present: true } };
const DELETED: FieldRules = { 1: number };
const RECORD: FieldRules = { 1: needed, 2: bytes, 3: number };

/** Field of Content by the type of the event. */
const DATA: Readonly<Record<string, number>> = { PlantAdded: 7, PlantDeleted: 8 };

/** The event in its canonical bytes (docs/audit.md). Throws NotVerified unless they are exactly that. */
export function parseEvent(canonical: Uint8Array): LogEvent {
  try {
    const event = new Message(canonical, EVENT);
    const commitment = event.bytes(5)!;
    if (commitment.length !== DIGEST) throw new Error('its commitment is no hash');
    return {
      position: event.count(1),
      eventId: event.text(2),
      time: timeOf(new Message(event.bytes(3)!, TIMESTAMP)),
      type: event.text(4),
      commitment,
      erased: event.count(6),
    };
  } catch (error) {
    throw new NotVerified(`The bytes are not those of an event: ${(error as Error).message}.`, error);
  }
}

function timeOf(timestamp: Message): number {
  const nanos = timestamp.count(2);
  const time = Number(timestamp.signed(1)) * 1_000 + nanos / 1_000_000;
  // Checks the nanoseconds themselves, because the sum would round a few of them away.
  if (nanos >= 1_000_000_000 || nanos % 1_000_000 !== 0 || !Number.isSafeInteger(time))
    throw new Error('its time is not in whole milliseconds');
  return time;
}

/** The content of an event of a type, from its canonical bytes. Throws NotVerified unless they are exactly that. */
export function parseContent(canonical: Uint8Array, type: string): EventContent {
  try {
    const content = new Message(canonical, CONTENT);
    const salt = content.bytes(1)!;
    if (salt.length !== SALT) throw new Error('its salt has another length');
    const field = [7, 8].filter((data) => content.has(data));
    if (field.length > 1 || field[0] !== DATA[type]) throw new Error(`it is not what an event ${type} says`);
    return {
      salt,
      owner: content.text(2),
      actor: content.text(3),
      issuer: content.text(4),
      idempotencyKey: content.text(5),
      traceparent: content.text(6),
      ...(field[0] !== undefined && { plant: plantOf(content.bytes(field[0])!, field[0]) }),
    };
  } catch (error) {
    throw new NotVerified(`The bytes are not those of a content: ${(error as Error).message}.`, error);
  }
}

function plantOf(data: Bytes, field: number): NonNullable<EventContent['plant']> {
  if (field === DATA.PlantDeleted) return { id: new Message(data, DELETED).signed(1) };
  const added = new Message(data, ADDED);
  return { id: added.signed(1), name: added.text(2), ...(added.has(3) && { tag: added.text(3) }) };
}

/** A plantstore.v1.Record, without the hash of the chain, which the tree lacks. Throws NotVerified if it is not one. */
export function parseRecord(record: Uint8Array): EventRecord {
  try {
    const message = new Message(record, RECORD);
    const event = message.bytes(1)!;
    const hash = new Message(event, { ...EVENT, 15: bytes }).bytes(15);
    if (hash !== undefined && hash.length !== DIGEST) throw new Error('its hash has another length');
    return {
      event: hash === undefined ? event : event.slice(0, -HASH_FIELD),
      content: message.bytes(2),
      erasedBy: message.count(3),
    };
  } catch (error) {
    throw new NotVerified(`The bytes are not those of a record: ${(error as Error).message}.`, error);
  }
}
