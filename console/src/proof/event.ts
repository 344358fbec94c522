import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Content,
  ContentSchema,
  EventSchema,
  type Record,
  RecordSchema,
} from '../../../gen/plantstore/v1/event_pb.ts';
import { HASH_SIZE, sameHash } from '../../../src/tlog/hash.ts';
import { orNotVerified } from './outcome.ts';

/** An event as the log has it: that something happened, and when. */
export interface LogEvent {
  readonly position: number;
  readonly eventId: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly type: string;
  /** SHA-256 of its content. */
  readonly commitment: Uint8Array;
  /** Of OwnerErased: how many events before it lose their content. */
  readonly erased: number;
}

/** An event in the form that the service sends. */
export interface EventRecord {
  /** The canonical bytes of the event. */
  readonly event: Uint8Array;
  /** The canonical bytes of its content; undefined if it is erased or not shown. */
  readonly content: Uint8Array | undefined;
  /** Position of the event that erased it; 0: none. */
  readonly erasedBy: number;
}

const SALT_SIZE = 16;

/** What the content of an event is about, by the type of the event. */
const DATA: Readonly<{ [type: string]: Content['data']['case'] }> = {
  PlantAdded: 'plantAdded',
  PlantDeleted: 'plantDeleted',
};

/** The event in its canonical bytes (docs/audit.md). Throws NotVerified unless they are exactly that. */
export const parseEvent = (canonical: Uint8Array): LogEvent =>
  orNotVerified(
    () => {
      const { position, eventId, time, type, commitment, erased, hash } = decode(EventSchema, canonical);
      if (eventId === '' || time === undefined || type === '' || position === 0n) throw new Error('it lacks a field');
      if (commitment.length !== HASH_SIZE || hash.length > 0)
        throw new Error('it has other hashes than its commitment');
      if (time.nanos % 1_000_000 !== 0 || time.nanos < 0 || time.nanos >= 1_000_000_000)
        throw new Error('its time is not in whole milliseconds');
      const milliseconds = timestampMs(time);
      return { position: count(position), eventId, time: milliseconds, type, commitment, erased: count(erased) };
    },
    (why) => `The bytes are not those of an event: ${why}.`,
  );

/** The content of an event of a type, from its canonical bytes. Throws NotVerified unless they are exactly that. */
export const parseContent = (canonical: Uint8Array, type: string): Content =>
  orNotVerified(
    () => {
      const content = decode(ContentSchema, canonical);
      if (content.salt.length !== SALT_SIZE) throw new Error('its salt has another length');
      if (content.data.case !== DATA[type]) throw new Error(`it is not what an event ${type} says`);
      return content;
    },
    (why) => `The bytes are not those of a content: ${why}.`,
  );

/** A plantstore.v1.Record in canonical bytes. Throws NotVerified if it is not one. */
export const parseRecord = (record: Uint8Array): EventRecord =>
  orNotVerified(
    () => recordOf(decode(RecordSchema, record)),
    (why) => `The bytes are not those of a record: ${why}.`,
  );

/** The bytes of a record, without the hash of the chain, which the tree lacks. Throws if it has no event. */
export function recordOf({ event, content, erasedBy }: Record): EventRecord {
  if (event === undefined) throw new Error('it has no event');
  return {
    event: eventBytes(event),
    content: content && toBinary(ContentSchema, content),
    erasedBy: count(erasedBy),
  };
}

/** The canonical bytes of an event, which are its entry in the log. */
export const eventBytes = (event: NonNullable<Record['event']>): Uint8Array =>
  toBinary(EventSchema, { ...event, hash: new Uint8Array() });

/** The message in canonical protobuf: a message has exactly one such form. */
function decode<Schema extends DescMessage>(schema: Schema, canonical: Uint8Array): MessageShape<Schema> {
  const message = fromBinary(schema, canonical, { readUnknownFields: false });
  if (!sameHash(toBinary(schema, message), canonical)) throw new Error('they are not in canonical form');
  return message;
}

function count(value: bigint): number {
  if (value < 0n || value > Number.MAX_SAFE_INTEGER) throw new Error('a count in it is out of range');
  return Number(value);
}
