import type { LoggedEvent } from '../../src/log/event/event.ts';
import { TRACEPARENT } from './events.ts';
import { bytesIn, field, fieldsOf, messageOf, raw, replaced, type WireField } from './wire.ts';

/** Some of what a store keeps of an event. */
export interface Kept {
  readonly event?: Uint8Array;
  readonly hash?: Uint8Array;
  readonly content?: Uint8Array | undefined;
  readonly erasedBy?: number | undefined;
  readonly owner?: string | undefined;
  readonly plantId?: bigint | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Something that no release kept as an event. */
export interface Malformed {
  readonly name: string;
  /** The type of the event that it is made of. */
  readonly of: LoggedEvent['type'];
  /** What differs. */
  readonly change: (event: LoggedEvent) => Kept;
}

/** Numbers of fields. */
const EVENT = { position: 1, eventId: 2, time: 3, type: 4, commitment: 5, erased: 6, hash: 15 };
const CONTENT = { salt: 1, owner: 2, actor: 3, issuer: 4, key: 5, traceparent: 6, added: 7, deleted: 8 };
const PLANT = { id: 1, name: 2, tag: 3 };

const LONG_ONE = [0x81, 0x00];

/** An addition whose event, content or data has other fields of a number. */
const inEvent = (name: string, number: number, ...fields: WireField[]): Malformed => ({
  name: `an event with ${name}`,
  of: 'PlantAdded',
  change: ({ bytes }) => ({ event: replaced(bytes, number, ...fields) }),
});
const inContent = (name: string, number: number, ...fields: WireField[]): Malformed => ({
  name: `a content with ${name}`,
  of: 'PlantAdded',
  change: ({ content }) => ({ content: replaced(content!, number, ...fields) }),
});
const inData = (name: string, number: number, ...fields: WireField[]): Malformed => ({
  name: `a plant with ${name}`,
  of: 'PlantAdded',
  change: ({ content }) => {
    const data = replaced(bytesIn(content!, CONTENT.added), number, ...fields);
    return { content: replaced(content!, CONTENT.added, field(CONTENT.added, data)) };
  },
});

const time = (...fields: readonly WireField[]) => field(EVENT.time, messageOf(fields));
const SECONDS = field(1, 1_767_312_245n);

/** The last two fields of a message in the other order. */
const swapped = (message: Uint8Array): Uint8Array => {
  const fields = fieldsOf(message);
  return messageOf([...fields.slice(0, -2), fields.at(-1)!, fields.at(-2)!]);
};

/** Bytes that are not those of an event; each kind once. */
export const MALFORMED: readonly Malformed[] = [
  ...[0, 1, 2, 40].map(
    (end): Malformed => ({
      name: end === 0 ? 'an event of no bytes' : `an event that is ${end} bytes short`,
      of: 'PlantAdded',
      change: ({ bytes }) => ({ event: end === 0 ? new Uint8Array() : bytes.subarray(0, -end) }),
    }),
  ),
  { name: 'an event in another order', of: 'PlantAdded', change: ({ bytes }) => ({ event: swapped(bytes) }) },
  inEvent('another position', EVENT.position, field(EVENT.position, 7_000n)),
  inEvent('no position', EVENT.position),
  inEvent('the position 0', EVENT.position, field(EVENT.position, 0n)),
  inEvent('a position below 0', EVENT.position, field(EVENT.position, -1n)),
  inEvent('a position beyond every number', EVENT.position, field(EVENT.position, 2n ** 53n)),
  inEvent('a position as a text', EVENT.position, field(EVENT.position, '1')),
  inEvent('a position in more bytes than it takes', EVENT.position, raw(EVENT.position, 0x08, ...LONG_ONE)),
  inEvent('a position of 11 bytes', EVENT.position, raw(EVENT.position, 0x08, ...Array(10).fill(0x81), 0x01)),
  inEvent('a position of 65 bits', EVENT.position, raw(EVENT.position, 0x08, ...Array(9).fill(0x81), 0x02)),
  inEvent('a tag in more bytes than it takes', EVENT.position, raw(EVENT.position, 0x88, 0x00, 0x01)),
  inEvent('two positions', EVENT.position, field(EVENT.position, 4n), field(EVENT.position, 4n)),
  inEvent('an empty id that is written', EVENT.eventId, field(EVENT.eventId, '')),
  inEvent('an id that is not UTF-8', EVENT.eventId, field(EVENT.eventId, Uint8Array.of(0x61, 0xff))),
  inEvent('an id of half a surrogate pair', EVENT.eventId, field(EVENT.eventId, Uint8Array.of(0xed, 0xa0, 0x80))),
  inEvent('an id longer than the event', EVENT.eventId, raw(EVENT.eventId, 0x12, 0xff, 0x7f, 0x61)),
  inEvent('an id with a long length', EVENT.eventId, raw(EVENT.eventId, 0x12, ...LONG_ONE, 0x61)),
  inEvent('an id as a number', EVENT.eventId, field(EVENT.eventId, 7n)),
  inEvent('no time', EVENT.time),
  inEvent('a time as a number', EVENT.time, field(EVENT.time, 1n)),
  inEvent('a time after the last of a date', EVENT.time, time(field(1, 253_402_300_800n))),
  inEvent('a time before the first of a date', EVENT.time, time(field(1, -62_135_596_801n))),
  inEvent('a time beyond every number', EVENT.time, time(field(1, 2n ** 63n - 1n))),
  inEvent('a time with a nanosecond', EVENT.time, time(SECONDS, field(2, 1n))),
  inEvent('a time with half a millisecond', EVENT.time, time(SECONDS, field(2, 500_000n))),
  inEvent('a time with a second of nanoseconds', EVENT.time, time(SECONDS, field(2, 1_000_000_000n))),
  inEvent('a time with nanoseconds below 0', EVENT.time, time(SECONDS, field(2, -1_000_000n))),
  inEvent('a time with no nanoseconds that are written', EVENT.time, time(SECONDS, field(2, 0n))),
  inEvent('a time with nanoseconds first', EVENT.time, time(field(2, 1_000_000n), SECONDS)),
  inEvent('a time with one more field', EVENT.time, time(SECONDS, field(3, 1n))),
  inEvent('no type', EVENT.type),
  inEvent('a type that is none', EVENT.type, field(EVENT.type, 'PlantMoved')),
  inEvent('a type of every object', EVENT.type, field(EVENT.type, 'constructor')),
  inEvent('no commitment', EVENT.commitment),
  inEvent('a commitment cut short', EVENT.commitment, field(EVENT.commitment, new Uint8Array(31))),
  inEvent('a commitment too long', EVENT.commitment, field(EVENT.commitment, new Uint8Array(33))),
  inEvent('erased events', EVENT.erased, field(EVENT.erased, 3n)),
  inEvent('a hash', EVENT.hash, field(EVENT.hash, new Uint8Array(32))),
  inEvent('a field above the hash', 16, field(16, 1n)),
  inEvent('the field 0', 9, raw(9, 0x00, 0x01)),
  inEvent('a group', 9, raw(9, 0x4b, 0x4c)),
  inEvent('a wire type that is none', 9, raw(9, 0x4e)),
  inEvent('a field beyond every number', 9, raw(9, 0x80, 0x80, 0x80, 0x80, 0x10, 0x01)),
  inEvent('an unknown field cut short', 9, raw(9, 0x4a, 0x05, 0x61)),
  inEvent('unknown 8 bytes cut short', 9, raw(9, 0x49, 0x61)),
  inEvent('unknown 4 bytes cut short', 9, raw(9, 0x4d, 0x61)),
  inEvent('an unknown number in more bytes than it takes', 9, raw(9, 0x48, ...LONG_ONE)),
  inEvent('unknown fields in another order', 9, field(10, 1n), field(9, 1n)),
  { name: 'a hash cut short', of: 'PlantAdded', change: ({ hash }) => ({ hash: hash.subarray(1) }) },
  { name: 'a hash too long', of: 'PlantAdded', change: ({ hash }) => ({ hash: Buffer.concat([hash, hash]) }) },
  { name: 'no content and no erasure', of: 'PlantAdded', change: () => ({ content: undefined }) },
  { name: 'a content that is erased', of: 'PlantAdded', change: () => ({ erasedBy: 9_000 }) },
  { name: 'an erasure at 0', of: 'PlantAdded', change: () => ({ content: undefined, erasedBy: 0 }) },
  { name: 'an erasure below 0', of: 'PlantAdded', change: () => ({ content: undefined, erasedBy: -1 }) },
  { name: 'a content of no bytes', of: 'PlantAdded', change: () => ({ content: new Uint8Array() }) },
  {
    name: 'a content that is a byte short',
    of: 'PlantAdded',
    change: ({ content }) => ({ content: content!.subarray(0, -1) }),
  },
  { name: 'a content in another order', of: 'PlantAdded', change: ({ content }) => ({ content: swapped(content!) }) },
  inContent('no salt', CONTENT.salt),
  inContent('a salt cut short', CONTENT.salt, field(CONTENT.salt, new Uint8Array(15))),
  inContent('a salt too long', CONTENT.salt, field(CONTENT.salt, new Uint8Array(17))),
  inContent('two salts', CONTENT.salt, ...[0, 1].map(() => field(CONTENT.salt, new Uint8Array(16)))),
  inContent('an empty owner that is written', CONTENT.owner, field(CONTENT.owner, '')),
  inContent('an owner as a number', CONTENT.owner, field(CONTENT.owner, 7n)),
  inContent('an actor that is not UTF-8', CONTENT.actor, field(CONTENT.actor, Uint8Array.of(0xc3))),
  inContent('an empty issuer that is written', CONTENT.issuer, field(CONTENT.issuer, '')),
  inContent('an empty idempotency key that is written', CONTENT.key, field(CONTENT.key, '')),
  inContent('an empty trace context', CONTENT.traceparent, field(CONTENT.traceparent, '')),
  inContent('a trace context too long', CONTENT.traceparent, field(CONTENT.traceparent, `${TRACEPARENT}-`)),
  inContent('no data', CONTENT.added),
  inContent('data as a number', CONTENT.added, field(CONTENT.added, 1n)),
  inContent('data twice', CONTENT.added, ...[0, 1].map(() => field(CONTENT.added, new Uint8Array()))),
  inContent('the data of another type', CONTENT.added, field(CONTENT.deleted, new Uint8Array())),
  inContent('the data of another type too', CONTENT.deleted, field(CONTENT.deleted, new Uint8Array())),
  inContent('an unknown field in front', CONTENT.salt, field(9, 1n), field(CONTENT.salt, new Uint8Array(16))),
  inContent('an unknown field cut short', 9, raw(9, 0x4a, 0x05, 0x61)),
  inData('the id 0 that is written', PLANT.id, field(PLANT.id, 0n)),
  inData('an id in more bytes than it takes', PLANT.id, raw(PLANT.id, 0x08, ...LONG_ONE)),
  inData('an id as a text', PLANT.id, field(PLANT.id, '1')),
  inData('an empty name that is written', PLANT.name, field(PLANT.name, '')),
  inData('a name that is not UTF-8', PLANT.name, field(PLANT.name, Uint8Array.of(0xc0, 0x80))),
  inData('a name longer than its message', PLANT.name, raw(PLANT.name, 0x12, 0x7f, 0x61)),
  inData('two names', PLANT.name, field(PLANT.name, 'a'), field(PLANT.name, 'a')),
  inData('a tag as a number', PLANT.tag, field(PLANT.tag, 0n)),
  inData('an unknown field in front', PLANT.id, field(9, 1n), field(PLANT.id, 1n)),
  {
    name: 'a deletion with the content of an addition',
    of: 'PlantDeleted',
    change: ({ content }) => ({
      content: replaced(content!, CONTENT.deleted, field(CONTENT.added, bytesIn(content!, CONTENT.deleted))),
    }),
  },
  {
    name: 'a deletion with the data of an addition too',
    of: 'PlantDeleted',
    change: ({ content }) => ({ content: replaced(content!, CONTENT.added, field(CONTENT.added, new Uint8Array())) }),
  },
  {
    name: 'an erasure that names an owner',
    of: 'OwnerErased',
    change: ({ content }) => ({ content: replaced(content!, CONTENT.owner, field(CONTENT.owner, 'alice')) }),
  },
  {
    name: 'an erasure with a plant',
    of: 'OwnerErased',
    change: ({ content }) => ({ content: replaced(content!, CONTENT.added, field(CONTENT.added, new Uint8Array())) }),
  },
  {
    name: 'an erasure of 0 events that is written',
    of: 'OwnerErased',
    change: ({ bytes }) => ({ event: replaced(bytes, EVENT.erased, field(EVENT.erased, 0n)) }),
  },
  {
    name: 'an erasure of fewer than 0 events',
    of: 'OwnerErased',
    change: ({ bytes }) => ({ event: replaced(bytes, EVENT.erased, field(EVENT.erased, -3n)) }),
  },
  {
    name: 'an erasure that is erased',
    of: 'OwnerErased',
    change: () => ({ content: undefined, erasedBy: 9_000 }),
  },
];
