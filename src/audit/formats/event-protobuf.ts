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
    const event = fromMessage(fromBinary(RecordSchema, bytes));
    // Compared byte by byte, because libraries skip unknown fields and repair invalid text.
    if (Buffer.compare(recordBytes(event), bytes) !== 0) throw new Error('its encoding is not that of an export');
    return event;
  } catch (error) {
    throw notAnEvent(number, error);
  }
}

/** The messages that contain the fields of events. PlantAdded has all fields of PlantDeleted. */
const SCHEMAS: Readonly<Record<string, DescMessage>> = {
  event: EventSchema,
  content: ContentSchema,
  data: PlantAddedSchema,
};

/** The fields of these messages, with their local names. */
const MEMBERS = FIELDS.flatMap((field) => {
  const member = SCHEMAS[field.part]?.fields.find(({ number }) => number === field.number);
  return member === undefined ? [] : [{ field, member: member.localName }];
});

/** The event in a message. Throws, with the reason, if the message is not one. */
export function fromMessage({ event, content, erasedBy }: EventRecord): LoggedEvent {
  const messages: Readonly<Record<string, Message | undefined>> = { event, content, data: content?.data.value };
  const flat: Record<string, unknown> = { ...(erasedBy !== 0n && { erasedBy: Number(erasedBy) }) };
  for (const { field, member } of MEMBERS) {
    const value = (messages[field.part] as unknown as Readonly<Record<string, unknown>> | undefined)?.[member];
    if (value !== undefined && !isLeftOut(field, value, event?.type)) flat[field.name] = fromMember(field, value);
  }
  return unflattened(flat as FlatEvent);
}

/** Whether a default value means that the event lacks the field. A message cannot distinguish the two. */
const isLeftOut = ({ hasPresence, isOptional, of }: Field, value: unknown, type: string | undefined): boolean =>
  (value === '' || value === 0n) &&
  !hasPresence &&
  (isOptional === true || of?.some((each) => each === type) === false);

const fromMember = ({ kind }: Field, value: unknown): unknown =>
  kind === 'time' ? timestampMs(value as Timestamp) : kind === 'count' ? Number(value) : value;
