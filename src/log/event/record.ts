import { WireType } from '@bufbuild/protobuf/wire';
import { decode, type Message, messageOf, readMessage } from './decode.ts';
import { begunErasure, type Erases, type LoggedEvent, type StoredEvent } from './event.ts';
import { DIGEST_BYTES, type Field, HASH_NUMBER } from './fields.ts';
import { WireReader } from './wire-reader.ts';
import { WireWriter } from './wire-writer.ts';

/** Numbers of the fields of plantstore.v1.Record. */
const EVENT_NUMBER = 1;
const CONTENT_NUMBER = 2;
const ERASED_BY_NUMBER = 3;
const ERASES_NUMBER = 4;
/** Numbers of the fields of plantstore.v1.Erases. */
const OWNER_NUMBER = 1;
const KEY_NUMBER = 2;

/** The bytes before `hash`: its tag and its length. */
const HASH_TAG = Uint8Array.of((HASH_NUMBER << 3) | WireType.LengthDelimited, DIGEST_BYTES);

/** Most bytes of a record without what it holds. */
const OVERHEAD_BYTES = 128;

const writer = new WireWriter();

/** The bytes of plantstore.v1.Event: the canonical ones, and `hash`. */
export const eventBytes = ({ bytes, hash }: StoredEvent): Uint8Array => Buffer.concat([bytes, HASH_TAG, hash]);

/** The bytes of an event's plantstore.v1.Record: both parts in canonical form, with `hash` and `erases`. */
export const recordBytes = (event: StoredEvent): Uint8Array => recordOf(event, event);

/** The same without `hash`, so that its Event is the log's entry, and without `erases`, which is not kept for ever. */
export const provenRecordBytes = (event: StoredEvent): Uint8Array => recordOf(event);

function recordOf(
  { bytes, content, erasedBy = 0 }: StoredEvent,
  { hash, erases }: Partial<Pick<StoredEvent, 'hash' | 'erases'>> = {},
): Uint8Array {
  writer.begin(OVERHEAD_BYTES + bytes.length + (content?.length ?? 0) + WireWriter.roomFor(erases?.owner ?? ''));
  const start = writer.open(EVENT_NUMBER);
  writer.fields(bytes);
  if (hash !== undefined) writer.bytes(HASH_NUMBER, hash);
  writer.close(start);
  if (content !== undefined) writer.bytes(CONTENT_NUMBER, content);
  writer.number(ERASED_BY_NUMBER, erasedBy);
  if (erases !== undefined) writeErases(erases);
  return writer.written();
}

function writeErases({ owner, key }: Erases): void {
  const start = writer.open(ERASES_NUMBER);
  writer.text(OWNER_NUMBER, owner);
  writer.bytes(KEY_NUMBER, key);
  writer.close(start);
}

const FIELDS: readonly Field[] = [
  { name: 'event', kind: 'bytes', number: EVENT_NUMBER },
  { name: 'content', kind: 'bytes', number: CONTENT_NUMBER },
  { name: 'erasedBy', kind: 'count', number: ERASED_BY_NUMBER },
];

const refuse = (): never => {
  throw new RangeError('it has a field that an event cannot have');
};

const ERASES_MESSAGE = messageOf(
  [
    { name: 'owner', kind: 'text', number: OWNER_NUMBER, hasPresence: true },
    { name: 'key', kind: 'bytes', number: KEY_NUMBER },
  ],
  refuse,
);
const RECORD = messageOf(FIELDS, refuse, { number: ERASES_NUMBER, message: ERASES_MESSAGE });
const PROVEN_RECORD = messageOf(FIELDS, refuse);

/** The event of `recordBytes`. Throws RangeError, with the reason, for bytes that it would not write. */
export function eventOfRecord(record: Uint8Array): LoggedEvent {
  const { event, ...rest } = partsOf(record, RECORD);
  const end = event.length - DIGEST_BYTES;
  if (end < HASH_TAG.length || Buffer.compare(event.subarray(end - HASH_TAG.length, end), HASH_TAG) !== 0)
    throw new RangeError('its hash is missing');
  return decode({ ...rest, bytes: event.subarray(0, end - HASH_TAG.length), hash: event.subarray(end) });
}

/** The event of `provenRecordBytes`, with zeros for the hash. Throws like `eventOfRecord`. */
export function eventOfProvenRecord(record: Uint8Array): LoggedEvent {
  const { event, ...rest } = partsOf(record, PROVEN_RECORD);
  return decode({ ...rest, bytes: event, hash: new Uint8Array(DIGEST_BYTES) });
}

type Parts = Pick<StoredEvent, 'content' | 'erasedBy' | 'erases'> & { readonly event: Uint8Array };

function partsOf(record: Uint8Array, message: Message): Parts {
  const values: Record<string, unknown> = {};
  readMessage(new WireReader(record), message, values);
  const { event, content, erasedBy, owner, key, data } = values as Partial<Parts & Erases> & { data?: true };
  if (event === undefined) throw new RangeError('it has no event');
  if (data === undefined) return { event, content, erasedBy };
  if (owner === undefined || key === undefined) throw new RangeError('it does not say whom it erases');
  return { event, content, erasedBy, erases: begunErasure(owner, key) };
}
