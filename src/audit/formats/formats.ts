import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Record as EventRecord, RecordSchema } from '../../../gen/plantstore/v1/event_pb.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { eventBytes, eventOfRecord, recordBytes } from '../../log/event/record.ts';
import { eventJson, publicEventJson } from './event-json.ts';
import { firstLine, parseLine } from './parse-event.ts';

/**
 * Lossless formats for export and import of the log, by name. An export is the concatenation of its encoded parts.
 * `encodePublic` leaves the contents out: that is safe to publish, but not decodable. `first` cuts the bytes of the
 * first event off, undefined if it is incomplete, and `parse` reads them; both throw at what no export has.
 */
export const FORMATS = {
  /** One JSON object per line. */
  ndjson: {
    encode: (events: readonly LoggedEvent[]) => events.map((event) => `${eventJson(event)}\n`).join(''),
    encodePublic: (events: readonly LoggedEvent[]) => events.map((event) => `${publicEventJson(event)}\n`).join(''),
    first: firstLine,
    parse: parseLine,
  },
  /** plantstore.v1.Record messages (public: plantstore.v1.Event), each after its length. */
  protobuf: {
    encode: (events: readonly LoggedEvent[]) => lengthPrefixed(events.map(recordBytes)),
    encodePublic: (events: readonly LoggedEvent[]) => lengthPrefixed(events.map(eventBytes)),
    first: firstRecord,
    parse: parseRecord,
  },
} as const;

/** Bytes of the length before a record, of seven bits each, and the tag of its first field. */
const LENGTH_BYTES = 5;
const EVENT_TAG = 0x0a;

/**
 * The first bytes tell the format: JSON begins with `{"`, protobuf with a length and the tag of the first field.
 * Undefined: there are too few. Throws for bytes of neither.
 */
function formatOf(bytes: Uint8Array): (typeof FORMATS)[keyof typeof FORMATS] | undefined {
  if (bytes[0] === 0x7b && bytes[1] === 0x22) return FORMATS.ndjson;
  const end = bytes.subarray(0, LENGTH_BYTES).findIndex((byte) => byte < 0x80);
  if (bytes[end + 1] === EVENT_TAG && end >= 0) return FORMATS.protobuf;
  if (bytes.length < 2 || (end < 0 && bytes.length < LENGTH_BYTES) || end + 1 === bytes.length) return undefined;
  throw new Error(
    'this is no export: one in JSON begins with {"position", one in protobuf with the length of a record; one made with --public cannot be imported',
  );
}

/** Decodes an export in chunks of any size. Rejects at the first byte that no export has, and says where. */
export async function* decodeExport(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LoggedEvent[]> {
  let format: ReturnType<typeof formatOf>;
  let rest: Uint8Array = new Uint8Array();
  let count = 0;
  for await (const chunk of gathered(chunks)) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    format ??= formatOf(rest);
    const events: LoggedEvent[] = [];
    for (let frame = format?.first(rest, count + 1); frame !== undefined; frame = format?.first(rest, count + 1)) {
      count++;
      events.push(format!.parse(frame.bytes, count));
      rest = frame.rest;
    }
    if (events.length > 0) yield events;
  }
  if (rest.length > 0)
    throw new Error(`the export ends in the middle of event ${count + 1}: it was cut off, and lacks what follows`);
}

/** Bytes that are decoded at once: more than the largest event has, so that few events are taken up again. */
const GATHERED_BYTES = 128 * 1024;

/** The same bytes in chunks of at least so many, but for the last: small ones would each be copied with what waits. */
async function* gathered(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    size += chunk.length;
    if (size < GATHERED_BYTES) continue;
    yield Buffer.concat(parts);
    [parts, size] = [[], 0];
  }
  if (size > 0) yield Buffer.concat(parts);
}

/** Most bytes of one event in an export: more than the largest that the log accepts. */
const MAX_EVENT = 64 * 1024;

/** Messages of an export in protobuf, each after its length in bytes (a varint). */
function lengthPrefixed(messages: readonly Uint8Array[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const message of messages) writer.bytes(message);
  return writer.finish();
}

/** An event as a message: the one whose bytes an export in protobuf has. */
export const recordMessage = (event: LoggedEvent): EventRecord => fromBinary(RecordSchema, recordBytes(event));

/** The first message of an export, without its length. */
function firstRecord(bytes: Uint8Array, number: number): { bytes: Uint8Array; rest: Uint8Array } | undefined {
  // A varint ends with the first byte below 128.
  if (!bytes.subarray(0, 5).some((byte) => byte < 128)) {
    if (bytes.length < 5) return undefined;
    throw notAnEvent(number);
  }
  const reader = new BinaryReader(bytes);
  const length = reader.uint32();
  if (length > MAX_EVENT) throw notAnEvent(number);
  const end = reader.pos + length;
  return end > bytes.length ? undefined : { bytes: bytes.subarray(reader.pos, end), rest: bytes.subarray(end) };
}

/** Parses a message of an export. Throws at any byte that an export would not have. */
function parseRecord(bytes: Uint8Array, number: number): LoggedEvent {
  try {
    return eventOfRecord(bytes);
  } catch (error) {
    throw notAnEvent(number, error);
  }
}

const notAnEvent = (number: number, cause?: unknown): Error =>
  new Error(`event ${number} of the export is not a plantstore.v1.Record`, { cause });
