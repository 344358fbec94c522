import type { DomainEvent } from '../../domain/events.ts';
import type { LoggedEvent } from './event.ts';
import { DATA_NUMBER, FIELDS, type Field } from './fields.ts';
import { WireWriter } from './wire-writer.ts';

type Unsealed = Pick<LoggedEvent, 'position' | 'eventId' | 'time' | 'type' | 'commitment' | 'event'>;

/** Most bytes of an event, or its content, without its texts. */
const OVERHEAD = 160;

const writer = new WireWriter();
const NOTHING = new Uint8Array();

const byNumber = (part: Field['part']) =>
  FIELDS.filter((field) => field.part === part && field.name !== 'hash').toSorted((a, b) => a.number - b.number);

const EVENT = byNumber('event');
const CONTENT = byNumber('content');
const DATA = byNumber('data');
const TEXTS = [...CONTENT, ...DATA].filter(({ kind }) => kind === 'text');

/**
 * The canonical bytes of an event: plantstore.v1.Event (proto/plantstore/v1/event.proto) in protobuf binary form with
 * `hash` unset, fields in ascending number order, defaults omitted. They are also the leaf of the transparency log.
 */
export const canonicalBytes = (event: Unsealed): Uint8Array => Buffer.from(canonicalAfter(NOTHING, event));

/**
 * A prefix followed by the canonical bytes of an event. The buffer is reused: the result is valid until the next call.
 */
export function canonicalAfter(prefix: Uint8Array, logged: Unsealed): Uint8Array {
  writer.begin(prefix, OVERHEAD + WireWriter.roomFor(logged.eventId));
  for (const field of EVENT) {
    const value = field.name === 'erased' ? erasedBy(logged.event) : logged[field.name as keyof Unsealed];
    write(field, value);
  }
  return writer.written;
}

const erasedBy = (event: DomainEvent | undefined): number => (event?.type === 'OwnerErased' ? event.erased : 0);

/**
 * The canonical bytes of an event's content: plantstore.v1.Content by the same rules. The buffer is reused: the result
 * is valid until the next call.
 */
export function canonicalContent(event: DomainEvent, salt: Uint8Array): Uint8Array {
  let room = OVERHEAD;
  for (const { name } of TEXTS)
    room += WireWriter.roomFor((event[name as keyof DomainEvent] as string | undefined) ?? '');
  writer.begin(NOTHING, room);
  for (const field of CONTENT) write(field, field.name === 'salt' ? salt : event[field.name as keyof DomainEvent]);
  writeData(event);
  return writer.written;
}

function writeData(event: DomainEvent): void {
  const number = DATA_NUMBER[event.type];
  if (number === 0) return;
  const start = writer.open(number);
  for (const field of DATA) write(field, event[field.name as keyof DomainEvent]);
  writer.close(start);
}

function write({ number, kind, hasPresence }: Field, value: unknown): void {
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
