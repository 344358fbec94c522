import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Record as EventRecord, RecordSchema } from '../../../gen/plantstore/v1/event_pb.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { eventBytes, eventOfRecord, recordBytes } from '../../log/event/record.ts';

/** Most bytes of one event in an export: more than the largest that the log accepts. */
const MAX_EVENT = 64 * 1024;

/** Events as an export in protobuf: plantstore.v1.Record messages, each after its length in bytes (a varint). */
export function encodeEvents(events: readonly LoggedEvent[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const event of events) writer.bytes(recordBytes(event));
  return writer.finish();
}

/** Events without contents: plantstore.v1.Event messages, each after its length in bytes (a varint). */
export function encodePublicEvents(events: readonly LoggedEvent[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const event of events) writer.bytes(eventBytes(event));
  return writer.finish();
}

/** An event as a message. */
export const recordMessage = (event: LoggedEvent): EventRecord => fromBinary(RecordSchema, recordBytes(event));

/**
 * Decodes an export in protobuf, in batches. Rejects at any byte that `encodeEvents` would not write, and says where.
 */
export async function* decodeEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LoggedEvent[]> {
  let rest: Uint8Array = new Uint8Array();
  let count = 0;
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const events: LoggedEvent[] = [];
    for (let frame = frameOf(rest, count); frame !== undefined; frame = frameOf(rest, count)) {
      count++;
      events.push(decode(frame.bytes, count));
      rest = frame.rest;
    }
    if (events.length > 0) yield events;
  }
  if (rest.length > 0) throw new Error(`the export ends in the middle of event ${count + 1}`);
}

/** The bytes of the first event, and the rest; undefined if the event is incomplete. */
function frameOf(bytes: Uint8Array, count: number): { bytes: Uint8Array; rest: Uint8Array } | undefined {
  // A varint ends with the first byte below 128.
  if (!bytes.subarray(0, 5).some((byte) => byte < 128)) {
    if (bytes.length < 5) return undefined;
    throw notAnEvent(count + 1);
  }
  const reader = new BinaryReader(bytes);
  const length = reader.uint32();
  if (length > MAX_EVENT) throw notAnEvent(count + 1);
  const end = reader.pos + length;
  return end > bytes.length ? undefined : { bytes: bytes.subarray(reader.pos, end), rest: bytes.subarray(end) };
}

const notAnEvent = (number: number, cause?: unknown): Error =>
  new Error(`event ${number} of the export is not a plantstore.v1.Record`, { cause });

function decode(bytes: Uint8Array, number: number): LoggedEvent {
  try {
    return eventOfRecord(bytes);
  } catch (error) {
    throw notAnEvent(number, error);
  }
}
