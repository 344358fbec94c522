import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { PlantEvent } from '../domain/events.ts';
import type { LoggedEvent } from './event.ts';

/**
 * The canonical bytes of an event: plantstore.v1.Event (proto/plantstore/v1/event.proto) in protobuf binary form with `hash`
 * unset, fields in ascending number order, defaults left out. Written field by field because every add pays for it; a test
 * holds it equal to what the generated message type writes.
 */
export function canonicalBytes({ position, eventId, time, event }: Omit<LoggedEvent, 'hash'>): Uint8Array {
  const writer = new BinaryWriter();
  if (position !== 0) writer.tag(1, WireType.Varint).int64(position);
  if (eventId !== '') writer.tag(2, WireType.LengthDelimited).string(eventId);
  writer.tag(3, WireType.LengthDelimited).fork();
  timestamp(writer, time);
  writer.join();
  if (event.owner !== '') writer.tag(4, WireType.LengthDelimited).string(event.owner);
  if (event.actor !== '') writer.tag(5, WireType.LengthDelimited).string(event.actor);
  writer.tag(event.type === 'PlantAdded' ? 6 : 7, WireType.LengthDelimited).fork();
  data(writer, event);
  writer.join();
  return writer.finish();
}

/** google.protobuf.Timestamp; seconds round down, so that nanos are never negative. */
function timestamp(writer: BinaryWriter, time: number): void {
  const seconds = Math.floor(time / 1000);
  const nanos = (time - seconds * 1000) * 1_000_000;
  if (seconds !== 0) writer.tag(1, WireType.Varint).int64(seconds);
  if (nanos !== 0) writer.tag(2, WireType.Varint).int32(nanos);
}

/** PlantAdded or PlantDeleted. A tag has presence: empty is written, absent is not. */
function data(writer: BinaryWriter, event: PlantEvent): void {
  if (event.plantId !== 0n) writer.tag(1, WireType.Varint).int64(event.plantId);
  if (event.type === 'PlantDeleted') return;
  if (event.name !== '') writer.tag(2, WireType.LengthDelimited).string(event.name);
  if (event.tag !== undefined) writer.tag(3, WireType.LengthDelimited).string(event.tag);
}
