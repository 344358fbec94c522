import type { PlantEvent } from '../domain/events.ts';
import type { LoggedEvent } from './event.ts';
import { WireWriter } from './wire-writer.ts';

type Unsealed = Omit<LoggedEvent, 'hash'>;

/** Bytes that an event takes beside its texts, at most. */
const OVERHEAD = 64;

const writer = new WireWriter();

/**
 * The canonical bytes of an event: plantstore.v1.Event (proto/plantstore/v1/event.proto) in protobuf binary form with `hash`
 * unset, fields in ascending number order, defaults left out. Written field by field because every add pays for it, and every
 * verification for every event; a test holds it equal to what the generated message type writes.
 */
export const canonicalBytes = (event: Unsealed): Uint8Array => Buffer.from(canonicalAfter(new Uint8Array(), event));

/** A prefix, and the canonical bytes of an event after it. The memory is used again: this holds until the next call. */
export function canonicalAfter(prefix: Uint8Array, { position, eventId, time, event }: Unsealed): Uint8Array {
  const { owner, actor, idempotencyKey, traceparent } = event;
  let room = OVERHEAD + WireWriter.roomFor(eventId) + WireWriter.roomFor(owner) + WireWriter.roomFor(actor);
  if (event.type === 'PlantAdded') room += WireWriter.roomFor(event.name) + WireWriter.roomFor(event.tag ?? '');
  if (idempotencyKey !== undefined) room += WireWriter.roomFor(idempotencyKey);
  if (traceparent !== undefined) room += WireWriter.roomFor(traceparent);
  writer.begin(prefix, room);
  writer.number(1, position);
  if (eventId !== '') writer.text(2, eventId);
  timestamp(3, time);
  if (owner !== '') writer.text(4, owner);
  if (actor !== '') writer.text(5, actor);
  data(event.type === 'PlantAdded' ? 6 : 7, event);
  if (idempotencyKey !== undefined) writer.text(8, idempotencyKey);
  if (traceparent !== undefined) writer.text(9, traceparent);
  return writer.written;
}

/** google.protobuf.Timestamp; seconds round down, so that nanos are never negative. */
function timestamp(field: number, time: number): void {
  const start = writer.open(field);
  const seconds = Math.floor(time / 1000);
  writer.number(1, seconds);
  writer.number(2, (time - seconds * 1000) * 1_000_000);
  writer.close(start);
}

/** PlantAdded or PlantDeleted. A tag has presence: empty is written, absent is not. */
function data(field: number, event: PlantEvent): void {
  const start = writer.open(field);
  writer.int64(1, event.plantId);
  if (event.type === 'PlantAdded') {
    if (event.name !== '') writer.text(2, event.name);
    if (event.tag !== undefined) writer.text(3, event.tag);
  }
  writer.close(start);
}
