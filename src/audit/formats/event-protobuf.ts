import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { type Record as EventRecord, RecordSchema } from '../../../gen/plantstore/v1/event_pb.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { eventOfRecord, recordBytes } from '../../log/event/record.ts';

/** Most bytes of one event in an export: more than the largest that the log accepts. */
const MAX_EVENT = 64 * 1024;

/** Messages of an export in protobuf, each after its length in bytes (a varint). */
export function lengthPrefixed(messages: readonly Uint8Array[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const message of messages) writer.bytes(message);
  return writer.finish();
}

/** An event as a message: the one whose bytes an export in protobuf has. */
export const recordMessage = (event: LoggedEvent): EventRecord => fromBinary(RecordSchema, recordBytes(event));

/** The first message of an export, without its length. */
export function firstRecord(bytes: Uint8Array, number: number): { bytes: Uint8Array; rest: Uint8Array } | undefined {
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
export function parseRecord(bytes: Uint8Array, number: number): LoggedEvent {
  try {
    return eventOfRecord(bytes);
  } catch (error) {
    throw notAnEvent(number, error);
  }
}

const notAnEvent = (number: number, cause?: unknown): Error =>
  new Error(`event ${number} of the export is not a plantstore.v1.Record`, { cause });
