import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Event, EventSchema } from '../../gen/plantstore/v1/event_pb.ts';
import type { PlantEvent } from '../domain/events.ts';
import { isTraceparent } from '../domain/trace-context.ts';
import { canonicalBytes } from '../log/canonical.ts';
import type { LoggedEvent } from '../log/event.ts';

/** Number of the field `hash`: the last one, so that an event is its canonical bytes and then the hash. */
const HASH = 15;

/** Most bytes that one event may have in an export: more than the largest that can be written. */
const MAX_EVENT = 64 * 1024;

/** Events as an export in protobuf has them: each a plantstore.v1.Event with its length in bytes, a varint, before it. */
export function encodeEvents(events: readonly LoggedEvent[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const event of events) writer.bytes(bytesOf(event));
  return writer.finish();
}

const bytesOf = (event: LoggedEvent): Uint8Array =>
  new BinaryWriter().raw(canonicalBytes(event)).tag(HASH, WireType.LengthDelimited).bytes(event.hash).finish();

/**
 * The events of an export in protobuf, in batches. Rejects at what `encodeEvents` does not write, down to the byte, with its place in
 * the export.
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

/** The first event's bytes and those that follow; undefined where more of them have to be read first. */
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
  new Error(`event ${number} of the export is no plantstore.v1.Event`, { cause });

function decode(bytes: Uint8Array, number: number): LoggedEvent {
  try {
    const event = fromMessage(fromBinary(EventSchema, bytes));
    // Down to the byte, so that what is read is all that is there: libraries pass over unknown fields and mend broken text.
    if (Buffer.compare(bytesOf(event), bytes) !== 0) throw new Error('it is not written as an export writes it');
    return event;
  } catch (error) {
    throw notAnEvent(number, error);
  }
}

/** The event that a message holds. Throws when it holds none. */
export function fromMessage(message: Event): LoggedEvent {
  const { position, eventId, time, owner, actor, data, hash } = message;
  if (time === undefined || data.case === undefined) throw new Error('an event has a time and data');
  const { id: plantId } = data.value;
  const idempotencyKey = message.idempotencyKey || undefined;
  const traceparent = message.traceparent || undefined;
  if (traceparent !== undefined && !isTraceparent(traceparent)) throw new Error('its traceparent is malformed');
  const about = { owner, actor, plantId, idempotencyKey, traceparent };
  const event: PlantEvent =
    data.case === 'plantAdded'
      ? { type: 'PlantAdded', ...about, name: data.value.name, tag: data.value.tag }
      : { type: 'PlantDeleted', ...about };
  return { position: Number(position), eventId, time: timestampMs(time), event, hash };
}
