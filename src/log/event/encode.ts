import { CONTENT_FIELDS, DATA_NUMBER, type DomainEvent } from '../../domain/events.ts';
import type { LoggedEvent } from './event.ts';
import { CONTENT, DATA, EVENT, type Field } from './fields.ts';
import { WireWriter } from './wire-writer.ts';

/** Most bytes of an event, or its content, without its texts. */
const OVERHEAD_BYTES = 160;

const writer = new WireWriter();

/** The fields of Content before and after its `data`, by the number of that. */
const BESIDE = new Map(
  Object.values(DATA_NUMBER).map((data) => [
    data,
    Object.groupBy(CONTENT, (field) => (field.number < data ? 'before' : 'after')),
  ]),
);

/** What is in the canonical bytes of an event. */
export type Unsealed = Pick<LoggedEvent, 'position' | 'eventId' | 'time' | 'type' | 'commitment' | 'event'>;

/**
 * The canonical bytes of an event: plantstore.v1.Event (proto/plantstore/v1/event.proto) in protobuf binary form with
 * `hash` unset, fields in ascending number order, defaults omitted.
 */
export function encodeEvent(unsealed: Unsealed): Uint8Array {
  const { event, eventId } = unsealed;
  const erased = event?.type === 'OwnerErased' ? event.erased : 0;
  writer.begin(OVERHEAD_BYTES + WireWriter.roomFor(eventId));
  for (const field of EVENT)
    writeField(field, field.name === 'erased' ? erased : unsealed[field.name as keyof Unsealed]);
  return writer.kept();
}

/**
 * The canonical bytes of an event's content: plantstore.v1.Content by the same rules. The salt, which is field 1, and
 * then CONTENT_FIELDS (domain/events.ts) by their numbers.
 */
export function encodeContent(event: DomainEvent, salt: Uint8Array): Uint8Array {
  writer.begin(roomFor(event));
  const data = DATA_NUMBER[event.type];
  const { before = [], after = [] } = BESIDE.get(data)!;
  write(before, event, salt);
  if (data > 0) {
    const start = writer.open(data);
    write(DATA, event, salt);
    writer.close(start);
  }
  write(after, event, salt);
  return writer.kept();
}

function roomFor(event: DomainEvent): number {
  let room = OVERHEAD_BYTES;
  for (const { name, kind } of CONTENT_FIELDS)
    if (kind === 'text') room += WireWriter.roomFor((event[name as keyof DomainEvent] as string | undefined) ?? '');
  return room;
}

function write(fields: readonly Field[], event: DomainEvent, salt: Uint8Array): void {
  for (const field of fields) writeField(field, field.name === 'salt' ? salt : event[field.name as keyof DomainEvent]);
}

function writeField({ number, kind, hasPresence }: Field, value: unknown): void {
  if (value === undefined) return;
  switch (kind) {
    case 'count':
      writer.number(number, value as number);
      break;
    case 'int64':
      writer.int64(number, value as bigint);
      break;
    case 'text':
      if (value !== '' || hasPresence) writer.text(number, value as string);
      break;
    case 'bytes':
      if ((value as Uint8Array).length > 0) writer.bytes(number, value as Uint8Array);
      break;
    case 'time':
      timestamp(number, value as number);
  }
}

/** google.protobuf.Timestamp. Seconds round down, so that nanos are never negative. */
function timestamp(field: number, time: number): void {
  const start = writer.open(field);
  const seconds = Math.floor(time / 1000);
  writer.number(1, seconds);
  writer.number(2, (time - seconds * 1000) * 1_000_000);
  writer.close(start);
}
