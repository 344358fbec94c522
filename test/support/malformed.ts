import type { LoggedEvent } from '../../src/log/event/event.ts';
import { CONTENT, DATA, EVENT, type Field } from '../../src/log/event/fields.ts';
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
const POSITION = 1;
const TIME = 3;
const TYPE = 4;
const COMMITMENT = 5;
const ERASED = 6;
const HASH = 15;
const SALT = 1;
const OWNER = 2;
const ADDED = 7;
const DELETED = 8;

type Part = 'event' | 'content' | 'data';

const messageIn = (part: Part, { bytes, content }: LoggedEvent): Uint8Array =>
  part === 'event' ? bytes : part === 'content' ? content! : bytesIn(content!, ADDED);

/** An addition of which a part has these fields in the place of those of a number. */
const having = (name: string, part: Part, number: number, fieldsFor: (event: LoggedEvent) => readonly WireField[]) => ({
  name: `${part}, ${name}`,
  of: 'PlantAdded' as const,
  change: (event: LoggedEvent): Kept => {
    const message = replaced(messageIn(part, event), number, ...fieldsFor(event));
    if (part === 'data') return { content: replaced(event.content!, ADDED, field(ADDED, message)) };
    return { [part]: message };
  },
});
const inPart = (part: Part, name: string, number: number, ...fields: readonly WireField[]): Malformed =>
  having(name, part, number, () => fields);

/** What no field of a kind is written as. */
function wrongForms({ number, kind, hasPresence }: Field): [name: string, form: WireField][] {
  const [varint, delimited] = [number << 3, (number << 3) | 2];
  if (kind === 'count' || kind === 'int64')
    return [
      ['as a text', field(number, '1')],
      ['that is 0 and written', field(number, 0n)],
      ['in more bytes than it takes', raw(number, varint, 0x81, 0x00)],
      ['of 11 bytes', raw(number, varint, ...Array(10).fill(0x81), 0x01)],
      ['of 65 bits', raw(number, varint, ...Array(9).fill(0x81), 0x02)],
      ['with a tag in more bytes than it takes', raw(number, varint | 0x80, 0x00, 0x01)],
      ...(kind === 'int64' ? [] : [below0(number), beyond(number)]),
    ];
  return [
    ['as a number', field(number, 7n)],
    ['with a length in more bytes than it takes', raw(number, delimited, 0x81, 0x00, 0x61)],
    ['longer than its message', raw(number, delimited, 0xff, 0x7f, 0x61)],
    ...(hasPresence || kind === 'time'
      ? []
      : [['that is empty and written', field(number, '')] as [string, WireField]]),
    ...(kind === 'text'
      ? ([
          ['that is not UTF-8', field(number, Uint8Array.of(0x61, 0xff))],
          ['of half a surrogate pair', field(number, Uint8Array.of(0xed, 0xa0, 0x80))],
        ] as [string, WireField][])
      : []),
  ];
}

const below0 = (number: number): [string, WireField] => ['below 0', field(number, -1n)];
const beyond = (number: number): [string, WireField] => ['beyond every number', field(number, 2n ** 53n)];

/** Every field of a message in every wrong form, and twice. */
const wrongFields = (part: Part, fields: readonly Field[]): Malformed[] =>
  fields.flatMap((each) => {
    const { name, number } = each;
    const twice = (event: LoggedEvent) => {
      const right = fieldsOf(messageIn(part, event)).find((found) => found.number === number) ?? field(number, 'x');
      return [right, right];
    };
    return [
      having(`${name} twice`, part, number, twice),
      ...wrongForms(each).map(([what, form]) => inPart(part, `${name} ${what}`, number, form)),
    ];
  });

const time = (name: string, ...fields: readonly WireField[]): Malformed =>
  inPart('event', `a time ${name}`, TIME, field(TIME, messageOf(fields)));
const SECONDS = field(1, 1_767_312_245n);

/** Bytes of another length than a field has. */
const ofLength = (part: Part, name: string, number: number, lengths: readonly number[]): Malformed[] =>
  lengths.map((length) => inPart(part, `${name} of ${length} bytes`, number, field(number, new Uint8Array(length))));

/** The last two fields of a message in the other order. */
const swapped = (message: Uint8Array): Uint8Array => {
  const fields = fieldsOf(message);
  return messageOf([...fields.slice(0, -2), fields.at(-1)!, fields.at(-2)!]);
};

const ofAddition = (name: string, change: Malformed['change']): Malformed => ({ name, of: 'PlantAdded', change });
const ofErasure = (name: string, change: Malformed['change']): Malformed => ({ name, of: 'OwnerErased', change });

/** Bytes that are not those of an event; each kind once. */
export const MALFORMED: readonly Malformed[] = [
  ...wrongFields('event', EVENT),
  ...wrongFields('content', CONTENT),
  ...wrongFields('data', DATA),
  ...[POSITION, TIME, TYPE, COMMITMENT].map((number) => inPart('event', `without field ${number}`, number)),
  ...[SALT, ADDED].map((number) => inPart('content', `without field ${number}`, number)),
  ...ofLength('event', 'a commitment', COMMITMENT, [31, 33]),
  ...ofLength('content', 'a salt', SALT, [15, 17]),
  inPart('event', 'another position', POSITION, field(POSITION, 7_000n)),
  time('after the last of a date', field(1, 253_402_300_800n)),
  time('before the first of a date', field(1, -62_135_596_801n)),
  time('beyond every number', field(1, 2n ** 63n - 1n)),
  ...[1n, 500_000n, 1_000_000_000n, -1_000_000n, 0n].map((nanos) =>
    time(`with ${nanos} nanoseconds`, SECONDS, field(2, nanos)),
  ),
  time('with nanoseconds first', field(2, 1_000_000n), SECONDS),
  time('with one more field', SECONDS, field(3, 1n)),
  ...['PlantMoved', 'constructor'].map((type) => inPart('event', `the type ${type}`, TYPE, field(TYPE, type))),
  inPart('event', 'erased events', ERASED, field(ERASED, 3n)),
  inPart('event', 'a hash', HASH, field(HASH, new Uint8Array(32))),
  inPart('event', 'a field above the hash', 16, field(16, 1n)),
  inPart('event', 'the field 0', 9, raw(9, 0x00, 0x01)),
  inPart('event', 'a group', 9, raw(9, 0x4b, 0x4c)),
  inPart('event', 'a wire type that is none', 9, raw(9, 0x4e)),
  inPart('event', 'a field beyond every number', 9, raw(9, 0x80, 0x80, 0x80, 0x80, 0x10, 0x01)),
  ...(['event', 'content'] as const).map((part) => inPart(part, 'an unknown text cut short', 9, raw(9, 0x4a, 5, 0x61))),
  inPart('event', 'unknown 8 bytes cut short', 9, raw(9, 0x49, 0x61)),
  inPart('event', 'unknown 4 bytes cut short', 9, raw(9, 0x4d, 0x61)),
  inPart('event', 'an unknown number in more bytes than it takes', 9, raw(9, 0x48, 0x81, 0x00)),
  inPart('event', 'unknown fields in another order', 9, field(10, 1n), field(9, 1n)),
  inPart('content', 'an unknown field in front', SALT, field(9, 1n), field(SALT, new Uint8Array(16))),
  inPart('data', 'an unknown field in front', 1, field(9, 1n), field(1, 1n)),
  inPart('content', 'a trace context too long', 6, field(6, 'x'.repeat(56))),
  inPart('content', 'the data of another type', ADDED, field(DELETED, new Uint8Array())),
  inPart('content', 'the data of another type too', DELETED, field(DELETED, new Uint8Array())),
  ...[1, 2, 40].map((end) =>
    ofAddition(`an event that is ${end} bytes short`, ({ bytes }) => ({ event: bytes.subarray(0, -end) })),
  ),
  ofAddition('an event of no bytes', () => ({ event: new Uint8Array() })),
  ofAddition('an event in another order', ({ bytes }) => ({ event: swapped(bytes) })),
  ofAddition('a hash cut short', ({ hash }) => ({ hash: hash.subarray(1) })),
  ofAddition('a hash too long', ({ hash }) => ({ hash: Buffer.concat([hash, hash]) })),
  ofAddition('no content and no erasure', () => ({ content: undefined })),
  ofAddition('a content that is erased', () => ({ erasedBy: 9_000 })),
  ofAddition('an erasure at 0', () => ({ content: undefined, erasedBy: 0 })),
  ofAddition('an erasure below 0', () => ({ content: undefined, erasedBy: -1 })),
  ofAddition('a content of no bytes', () => ({ content: new Uint8Array() })),
  ofAddition('a content that is a byte short', ({ content }) => ({ content: content!.subarray(0, -1) })),
  ofAddition('a content in another order', ({ content }) => ({ content: swapped(content!) })),
  {
    name: 'a deletion with the data of an addition too',
    of: 'PlantDeleted',
    change: ({ content }) => ({ content: replaced(content!, ADDED, field(ADDED, new Uint8Array())) }),
  },
  ofErasure('an erasure that names an owner', ({ content }) => ({
    content: replaced(content!, OWNER, field(OWNER, 'alice')),
  })),
  ofErasure('an erasure with a plant', ({ content }) => ({
    content: replaced(content!, ADDED, field(ADDED, new Uint8Array())),
  })),
  ...[0n, -3n].map((erased) =>
    ofErasure(`an erasure of ${erased} events`, ({ bytes }) => ({
      event: replaced(bytes, ERASED, field(ERASED, erased)),
    })),
  ),
  ofErasure('an erasure that is erased', () => ({ content: undefined, erasedBy: 9_000 })),
];
