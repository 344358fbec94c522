import { type DescMessage, fromBinary, type Message } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  ContentSchema,
  type Record as EventRecord,
  EventSchema,
  PlantAddedSchema,
  RecordSchema,
} from '../../../gen/plantstore/v1/event_pb.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { FIELDS, type Field, type FlatEvent } from '../../log/event/fields.ts';
import { unflattened } from '../../log/event/flat-event.ts';
import { eventBytes, recordBytes } from '../../log/event/record-bytes.ts';

/** Most bytes that one event may have in an export: more than the largest that can be written. */
const MAX_EVENT = 64 * 1024;

/** Events as an export in protobuf has them: each a plantstore.v1.Record with its length in bytes, a varint, before it. */
export function encodeEvents(events: readonly LoggedEvent[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const event of events) writer.bytes(recordBytes(event));
  return writer.finish();
}

/** The events alone: each a plantstore.v1.Event with its length in bytes, a varint, before it. */
export function encodePublicEvents(events: readonly LoggedEvent[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const event of events) writer.bytes(eventBytes(event));
  return writer.finish();
}

/** The message of an event. */
export const recordMessage = (event: LoggedEvent): EventRecord => fromBinary(RecordSchema, recordBytes(event));

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
  new Error(`event ${number} of the export is no plantstore.v1.Record`, { cause });

function decode(bytes: Uint8Array, number: number): LoggedEvent {
  try {
    const event = fromMessage(fromBinary(RecordSchema, bytes));
    // Down to the byte, so that what is read is all that is there: libraries pass over unknown fields and mend broken text.
    if (Buffer.compare(recordBytes(event), bytes) !== 0) throw new Error('it is not written as an export writes it');
    return event;
  } catch (error) {
    throw notAnEvent(number, error);
  }
}

/** The messages that fields of events are in. PlantAdded has all that PlantDeleted has. */
const SCHEMAS: Readonly<Record<string, DescMessage>> = {
  event: EventSchema,
  content: ContentSchema,
  data: PlantAddedSchema,
};

/** The fields of messages, and the names of their members. */
const MEMBERS = FIELDS.flatMap((field) => {
  const member = SCHEMAS[field.part]?.fields.find(({ number }) => number === field.number);
  return member === undefined ? [] : [{ field, member: member.localName }];
});

/** The event that a message holds. Throws, with the reason, when it holds none. */
export function fromMessage({ event, content, erasedBy }: EventRecord): LoggedEvent {
  const messages: Readonly<Record<string, Message | undefined>> = { event, content, data: content?.data.value };
  const flat: Record<string, unknown> = { ...(erasedBy !== 0n && { erasedBy: Number(erasedBy) }) };
  for (const { field, member } of MEMBERS) {
    const value = (messages[field.part] as unknown as Readonly<Record<string, unknown>> | undefined)?.[member];
    if (value !== undefined && !isLeftOut(field, value, event?.type)) flat[field.name] = fromMember(field, value);
  }
  return unflattened(flat as FlatEvent);
}

/** Whether a value is the default of a field that the event does not have: a message cannot tell the two apart. */
const isLeftOut = ({ hasPresence, isOptional, of }: Field, value: unknown, type: string | undefined): boolean =>
  (value === '' || value === 0n) &&
  !hasPresence &&
  (isOptional === true || of?.some((each) => each === type) === false);

const fromMember = ({ kind }: Field, value: unknown): unknown =>
  kind === 'time' ? timestampMs(value as Timestamp) : kind === 'count' ? Number(value) : value;
