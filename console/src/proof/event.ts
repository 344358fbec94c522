import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Content,
  ContentSchema,
  type Event,
  EventSchema,
  type Record,
  RecordSchema,
} from '../../../gen/plantstore/v1/event_pb.ts';
import { HASH_SIZE, sameHash } from '../../../src/tlog/hash.ts';
import { orNotVerified } from './outcome.ts';

const SALT_SIZE = 16;

/** The fields of Content that say what happened: the message of each has the name of a type of event. */
const DATA = ContentSchema.oneofs[0]!.fields;

/** The types of events, of which the last alone has no such field. */
export const TYPES: readonly string[] = [...DATA.map(({ message }) => message!.name), 'OwnerErased'];

/** The event in its canonical bytes (docs/audit.md). Throws NotVerified unless they are exactly that. */
export const parseEvent = (canonical: Uint8Array): Event =>
  orNotVerified(
    () => {
      const event = decode(EventSchema, canonical);
      const { position, eventId, time, type, commitment, erased, hash } = event;
      if (eventId === '' || time === undefined || type === '' || position === 0n) throw new Error('it lacks a field');
      if (commitment.length !== HASH_SIZE || hash.length > 0)
        throw new Error('it has other hashes than its commitment');
      if (time.nanos % 1_000_000 !== 0 || time.nanos < 0 || time.nanos >= 1_000_000_000)
        throw new Error('its time is not in whole milliseconds');
      if (position < 0n || erased < 0n) throw new Error('a count in it is out of range');
      return event;
    },
    (why) => `The bytes are not those of an event: ${why}.`,
  );

/** The time of an event of the log, in milliseconds since 1970. */
export const timeOf = ({ time }: Event): number => timestampMs(time!);

/** The content of an event of a type, from its canonical bytes. Throws NotVerified unless they are exactly that. */
export const parseContent = (canonical: Uint8Array, type: string): Content =>
  orNotVerified(
    () => {
      const content = decode(ContentSchema, canonical);
      if (content.salt.length !== SALT_SIZE) throw new Error('its salt has another length');
      const said = DATA.find(({ message }) => message!.name === type);
      if (content.data.case !== said?.localName) throw new Error(`it is not what an event ${type} says`);
      return content;
    },
    (why) => `The bytes are not those of a content: ${why}.`,
  );

/** A plantstore.v1.Record in canonical bytes. Throws NotVerified if it is not one. */
export const parseRecord = (record: Uint8Array): Record =>
  orNotVerified(
    () => decode(RecordSchema, record),
    (why) => `The bytes are not those of a record: ${why}.`,
  );

/** The entry of an event in the log: its canonical bytes, without the chain's hash. No entry is empty: it has none. */
export const eventBytes = (event: Event | undefined): Uint8Array =>
  event === undefined ? new Uint8Array() : toBinary(EventSchema, { ...event, hash: new Uint8Array() });

/** The canonical bytes of a content. */
export const contentBytes = (content: Content): Uint8Array => toBinary(ContentSchema, content);

/** The message in canonical protobuf, its one such form. Fields of a later release stay as they are. */
function decode<Schema extends DescMessage>(schema: Schema, canonical: Uint8Array): MessageShape<Schema> {
  const message = fromBinary(schema, canonical);
  if (!sameHash(toBinary(schema, message), canonical)) throw new Error('they are not in canonical form');
  return message;
}
