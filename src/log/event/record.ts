import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { decode } from './decode.ts';
import type { Erases, LoggedEvent, StoredEvent } from './event.ts';
import { DIGEST, HASH } from './fields.ts';
import { WireWriter } from './wire-writer.ts';

/** Numbers of the fields of plantstore.v1.Record. */
const EVENT = 1;
const CONTENT = 2;
const ERASED_BY = 3;
const ERASES = 4;
/** Numbers of the fields of plantstore.v1.Erases. */
const OWNER = 1;
const KEY = 2;

/** The bytes before `hash`: its tag and its length. */
const HASH_TAG = Uint8Array.of((HASH << 3) | WireType.LengthDelimited, DIGEST);

/** Most bytes of a record without what it holds. */
const OVERHEAD = 128;

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
  writer.begin(OVERHEAD + bytes.length + (content?.length ?? 0) + WireWriter.roomFor(erases?.owner ?? ''));
  const start = writer.open(EVENT);
  writer.fields(bytes);
  if (hash !== undefined) writer.bytes(HASH, hash);
  writer.close(start);
  if (content !== undefined) writer.bytes(CONTENT, content);
  writer.number(ERASED_BY, erasedBy);
  if (erases !== undefined) writeErases(erases);
  return writer.written();
}

function writeErases({ owner, key }: Erases): void {
  const start = writer.open(ERASES);
  writer.text(OWNER, owner);
  writer.bytes(KEY, key);
  writer.close(start);
}

/** The event of `recordBytes`. Throws RangeError, with the reason, for bytes that it would not write. */
export function eventOfRecord(record: Uint8Array): LoggedEvent {
  const { event, ...rest } = partsOf(record);
  const end = event.length - DIGEST;
  if (end < HASH_TAG.length || Buffer.compare(event.subarray(end - HASH_TAG.length, end), HASH_TAG) !== 0)
    throw new RangeError('its hash is missing');
  const bytes = event.subarray(0, end - HASH_TAG.length);
  return decoded(record, { ...rest, bytes, hash: event.subarray(end) }, recordBytes);
}

/** The event of `provenRecordBytes`, with zeros for the hash. Throws like `eventOfRecord`. */
export function eventOfProvenRecord(record: Uint8Array): LoggedEvent {
  const { event, ...rest } = partsOf(record);
  return decoded(record, { ...rest, bytes: event, hash: new Uint8Array(DIGEST) }, provenRecordBytes);
}

type Parts = Pick<StoredEvent, 'content' | 'erasedBy' | 'erases'> & { readonly event: Uint8Array };

function partsOf(record: Uint8Array): Parts {
  const reader = new BinaryReader(record);
  let [event, content, erasedBy, erases]: [Uint8Array?, Uint8Array?, number?, Erases?] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === EVENT && type === WireType.LengthDelimited) event = reader.bytes();
    else if (number === CONTENT && type === WireType.LengthDelimited) content = reader.bytes();
    else if (number === ERASED_BY && type === WireType.Varint) erasedBy = Number(reader.int64());
    else if (number === ERASES && type === WireType.LengthDelimited) erases = erasesOf(reader.bytes());
    else throw new RangeError('it has a field that an event cannot have');
  }
  if (event === undefined) throw new RangeError('it has no event');
  return { event, content, erasedBy, erases };
}

/** What an import takes over has to be removed and published where it is imported. */
function erasesOf(bytes: Uint8Array): Erases {
  const reader = new BinaryReader(bytes);
  let [owner, key]: [string, Uint8Array] = ['', new Uint8Array()];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === OWNER && type === WireType.LengthDelimited) owner = reader.string();
    else if (number === KEY && type === WireType.LengthDelimited) key = reader.bytes();
    else throw new RangeError('it has a field that an event cannot have');
  }
  return { owner, key, isCleared: false, isPublished: false };
}

/** Decodes a record. It must be as `write` writes it: a reader accepts other forms. */
function decoded(
  record: Uint8Array,
  stored: Omit<StoredEvent, 'position'>,
  write: (event: StoredEvent) => Uint8Array,
): LoggedEvent {
  const event = decode(stored);
  if (Buffer.compare(write(event), record) !== 0) throw new RangeError('its encoding is not canonical');
  return event;
}
