import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { canonicalBytes, canonicalContent } from './canonical.ts';
import type { LoggedEvent } from './event.ts';

/**
 * Number of the field `hash` of Event. It is the last field, so an event is its canonical bytes followed by the hash.
 */
const HASH = 15;
/** Numbers of the fields of Record. */
const EVENT = 1;
const CONTENT = 2;
const ERASED_BY = 3;

/** The bytes of plantstore.v1.Event: its canonical form, and `hash`. */
export const eventBytes = (event: LoggedEvent): Uint8Array =>
  new BinaryWriter().raw(canonicalBytes(event)).tag(HASH, WireType.LengthDelimited).bytes(event.hash).finish();

/** The bytes of an event's plantstore.v1.Record: both parts in canonical form, with `hash`. */
export const recordBytes = (event: LoggedEvent): Uint8Array => recordOf(eventBytes(event), event);

/** The same without `hash`, which the Merkle tree does not prove: its Event is exactly the log's entry. */
export const provenRecordBytes = (event: LoggedEvent): Uint8Array => recordOf(canonicalBytes(event), event);

function recordOf(bytes: Uint8Array, { event, salt, erasedBy }: LoggedEvent): Uint8Array {
  const record = new BinaryWriter().tag(EVENT, WireType.LengthDelimited).bytes(bytes);
  if (event !== undefined) record.tag(CONTENT, WireType.LengthDelimited).bytes(canonicalContent(event, salt!));
  if (erasedBy !== undefined) record.tag(ERASED_BY, WireType.Varint).int64(erasedBy);
  return record.finish();
}
