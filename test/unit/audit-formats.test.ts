import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, sizeDelimitedEncode } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Record as EventRecord, RecordSchema } from '../../gen/plantstore/v1/event_pb.ts';
import { eventJson, headJson, publicEventJson } from '../../src/audit/formats/event-json.ts';
import { decodeExport, FORMATS, recordMessage } from '../../src/audit/formats/formats.ts';
import { parseEvent } from '../../src/audit/formats/parse-event.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { seal, subjectOf } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { loggedArbitrary } from '../support/arbitraries.ts';
import { encoded } from '../support/encoded.ts';
import { TRACEPARENT } from '../support/events.ts';
import { extended } from '../support/extended.ts';
import { field } from '../support/wire.ts';

/** The bytes in chunks, cut at places that have nothing to do with events. */
async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (let index = 0; from < bytes.length; index++) {
    const size = sizes[index % sizes.length]!;
    yield bytes.subarray(from, from + size);
    from += size;
  }
}

async function decoded(bytes: Uint8Array, sizes = [7]): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  for await (const batch of decodeExport(cut(bytes, sizes))) events.push(...batch);
  return events.map((event) => ({
    ...event,
    salt: event.salt && new Uint8Array(event.salt),
    commitment: new Uint8Array(event.commitment),
    hash: new Uint8Array(event.hash),
  }));
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const names = Object.keys(FORMATS) as (keyof typeof FORMATS)[];

describe.each(names)('%s', (format) => {
  test('any events come back exactly, wherever the bytes are cut', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(fc.array(loggedArbitrary, { maxLength: 8 }), sizes, async (events, cuts) => {
        const bytes = Buffer.from(FORMATS[format].encode(events));
        expect(await decoded(bytes, cuts)).toEqual(events);
      }),
      { numRuns: 200 },
    );
  });

  test('a long export comes back exactly, of which no piece ends with an event', async () => {
    const events = fc.sample(loggedArbitrary, 500);
    const bytes = Buffer.from(FORMATS[format].encode(Array.from({ length: 4 }, () => events).flat()));
    expect(bytes.length).toBeGreaterThan(300_000);
    expect(await decoded(bytes, [70_001])).toEqual([...events, ...events, ...events, ...events]);
  });

  test('an erasure that is not complete comes back with the owner whom it erases, for whoever goes on with it', async () => {
    const erases = { owner: 'alice/é %', key: new Uint8Array(16).fill(7), isCleared: false, isPublished: false };
    const erased = { type: 'OwnerErased', actor: 'operator', erased: 0, subject: subjectOf(erases) } as const;
    const event = { ...seal(EMPTY_HEAD, erased, 'e', 0), erases };
    const [back] = await decoded(Buffer.from(FORMATS[format].encode([event])));
    expect(back).toMatchObject({ position: 1, erases: { owner: erases.owner, key: erases.key } });
  });

  test('an export that was cut off is not taken for a whole one', async () => {
    const events = fc.sample(loggedArbitrary, 3);
    const bytes = Buffer.from(FORMATS[format].encode(events));
    const whole = [0, 1, 2, 3].map((end) => Buffer.from(FORMATS[format].encode(events.slice(0, end))).length);
    for (let end = 0; end < bytes.length; end++)
      if (!whole.includes(end))
        await expect(decoded(bytes.subarray(0, end), [1_000])).rejects.toThrow('the export ends in the middle');
  });
});

test('protobuf is what the generated message type writes, each with its length before it', () => {
  fc.assert(
    fc.property(fc.array(loggedArbitrary, { maxLength: 5 }), (events) => {
      const written = Buffer.concat(events.map((event) => sizeDelimitedEncode(RecordSchema, recordMessage(event))));
      expect(Buffer.from(FORMATS.protobuf.encode(events)).equals(written)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

const changedMessage = (change: (message: EventRecord) => void) => {
  const [logged] = fc.sample(
    loggedArbitrary.filter(({ event }) => event?.type === 'PlantAdded'),
    1,
  );
  const message = recordMessage(logged!);
  change(message);
  return sizeDelimitedEncode(RecordSchema, message);
};

/** An event's message with more bytes at its end. */
const withMore = (more: readonly number[]) => {
  const message = toBinary(RecordSchema, recordMessage(fc.sample(loggedArbitrary, 1)[0]!));
  return new BinaryWriter().bytes(Buffer.concat([message, Buffer.from(more)])).finish();
};

test.each([
  ['no protobuf at all', Buffer.from('\u0003abc')],
  [
    'a message without time and data',
    sizeDelimitedEncode(RecordSchema, create(RecordSchema, { event: { position: 1n } })),
  ],
  [
    'a message with a malformed traceparent',
    changedMessage(({ content }) => {
      content!.traceparent = `${TRACEPARENT} `;
    }),
  ],
  [
    'a message with a salt cut short',
    changedMessage(({ content }) => {
      content!.salt = content!.salt.subarray(1);
    }),
  ],
  [
    'a message that is erased and says something',
    changedMessage((message) => {
      message.erasedBy = 9n;
    }),
  ],
  [
    'a message that says nothing and is not erased',
    changedMessage((message) => {
      message.content = undefined;
    }),
  ],
  [
    'a message of another type than it says',
    changedMessage(({ event }) => {
      event!.type = 'PlantDeleted';
    }),
  ],
  ['a message with one more field', withMore([0xc0, 0x0c, 1])],
  ['a message with a field twice', withMore([0x18, 7])],
  ['a length beyond every event', Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0])],
  ['a length that does not end', Buffer.alloc(20, 0xff)],
])('%s is refused, with its place', async (_, bytes) => {
  const first = FORMATS.protobuf.encode(fc.sample(loggedArbitrary, 1));
  await expect(decoded(Buffer.concat([first, bytes]))).rejects.toThrow('event 2 of the export is no');
});

const SALT = '000102030405060708090a0b0c0d0e0f';
const HASH = '00ff'.repeat(16);
const LINE = `{"position":1,"eventId":"e","time":"2026-01-02T03:04:05.678Z","type":"PlantAdded","owner":"a","actor":"b","plantId":-9007199254740993,"name":"Fern","tag":"","salt":"${SALT}","hash":"${HASH}"}`;
const ERASED_LINE = `{"position":1,"eventId":"e","time":"2026-01-02T03:04:05.678Z","type":"PlantAdded","commitment":"${HASH}","erasedBy":7,"hash":"${HASH}"}`;

test('a line is read exactly', () => {
  const event: DomainEvent = {
    type: 'PlantAdded',
    owner: 'a',
    actor: 'b',
    plantId: -9007199254740993n,
    name: 'Fern',
    tag: '',
  };
  const salt = Buffer.from(SALT, 'hex');
  const hash = Buffer.from(HASH, 'hex');
  const frame = { position: 1, eventId: 'e', time: Date.UTC(2026, 0, 2, 3, 4, 5, 678), type: event.type, hash };
  expect(parseEvent(LINE)).toEqual(encoded({ ...frame, event, salt }));
  const erased = { ...frame, event: undefined, salt: undefined, commitment: hash, erasedBy: 7 };
  expect(parseEvent(ERASED_LINE)).toEqual(encoded(erased));
});

test.each([
  ['something that it says', '"erasedBy":7', '"owner":"a","erasedBy":7'],
  ['a salt', '"commitment"', `"salt":"${SALT}","commitment"`],
  ['no commitment', `"commitment":"${HASH}",`, ''],
  ['no erasure', '"erasedBy":7,', ''],
  ['an erasure at 0', '"erasedBy":7', '"erasedBy":0'],
  ['a commitment cut short', '"commitment":"00', '"commitment":"'],
])('a line of an erased event with %s is refused', async (_, from, to) => {
  expect(ERASED_LINE.replace(from, to)).not.toBe(ERASED_LINE);
  await expect(decoded(Buffer.from(`${ERASED_LINE.replace(from, to)}\n`))).rejects.toThrow('is not an event');
});

test.each([
  ['a space', (line: string) => line.replace(',', ', ')],
  ['another order of members', (line: string) => line.replace(/("owner":"a"),("actor":"b")/, '$2,$1')],
  ['one more member', (line: string) => line.replace('"hash"', '"more":1,"hash"')],
  ['a missing member', (line: string) => line.replace('"actor":"b",', '')],
  ['another time zone', (line: string) => line.replace('Z"', '+00:00"')],
  ['a time that is none', (line: string) => line.replace('2026', 'when')],
  ['an id in quotes', (line: string) => line.replace('-9007199254740993', '"7"')],
  ['an id with a fraction', (line: string) => line.replace('-9007199254740993', '7.5')],
  ['an id beyond int64', (line: string) => line.replace('-9007199254740993', '9223372036854775808')],
  ['a position as text', (line: string) => line.replace('"position":1', '"position":"1"')],
  ['a type that is none', (line: string) => line.replace('PlantAdded', 'PlantEaten')],
  ['a hash in capitals', (line: string) => line.replace('"hash":"00ff', '"hash":"00FF')],
  ['a hash of half a byte', (line: string) => line.replace('"hash":"00ff', '"hash":"00f')],
  ['a hash cut short', (line: string) => line.replace('"hash":"00ff', '"hash":"')],
  ['no salt', (line: string) => line.replace(`"salt":"${SALT}",`, '')],
  ['a salt cut short', (line: string) => line.replace('"salt":"00', '"salt":"')],
  [
    'a commitment beside what is committed to',
    (line: string) => line.replace('"hash"', `"commitment":"${HASH}","hash"`),
  ],
  ['an erasure of what is there', (line: string) => line.replace('"hash"', '"erasedBy":7,"hash"')],
  ['an idempotency key that is empty', (line: string) => line.replace('"salt"', '"idempotencyKey":"","salt"')],
  ['an idempotency key that is none', (line: string) => line.replace('"salt"', '"idempotencyKey":7,"salt"')],
  ['an idempotency key in front', (line: string) => line.replace('"name"', '"idempotencyKey":"k","name"')],
  ['a traceparent that is empty', (line: string) => line.replace('"salt"', '"traceparent":"","salt"')],
  ['a traceparent that is none', (line: string) => line.replace('"salt"', `"traceparent":"${TRACEPARENT}0","salt"`)],
  ['a traceparent in a list', (line: string) => line.replace('"salt"', `"traceparent":["${TRACEPARENT}"],"salt"`)],
  ['a traceparent in front', (line: string) => line.replace('"name"', `"traceparent":"${TRACEPARENT}","name"`)],
  ['a tag that is null', (line: string) => line.replace('"tag":""', '"tag":null')],
  ['a name twice', (line: string) => line.replace('"name":"Fern"', '"name":"Oak","name":"Fern"')],
  ['no JSON', (line: string) => line.slice(1)],
  ['null', () => 'null'],
  ['nothing', () => ''],
])('what an export does not write is refused, with its line: %s', async (_, change) => {
  expect(change(LINE)).not.toBe(LINE);
  await expect(decoded(Buffer.from(`${LINE}\n${change(LINE)}\n`))).rejects.toThrow(
    'line 2 of the export is not an event',
  );
});

describe('a line of an event with fields that this release does not know', () => {
  const sealed = seal(EMPTY_HEAD, { type: 'PlantDeleted', owner: 'a', actor: 'b', plantId: 7n }, 'e', 0);
  const later = extended(sealed, { event: [field(9, 1n)], content: [field(10, 'x')] }, EMPTY_HEAD);
  const line = eventJson(later);
  const erased = eventJson({ ...later, content: undefined, event: undefined, salt: undefined, erasedBy: 9 });

  test('has its bytes, with which it is read', () => {
    expect(line).toContain(`"eventBytes":"${hex(later.bytes)}","contentBytes":"${hex(later.content!)}","hash"`);
    expect(parseEvent(line)).toEqual(later);
    expect(erased).toContain(`"erasedBy":9,"eventBytes":"${hex(later.bytes)}","hash"`);
    expect(eventJson(parseEvent(erased))).toBe(erased);
    expect(eventJson(sealed)).not.toContain('Bytes');
    expect(publicEventJson(later)).not.toMatch(/Bytes|"owner"|"salt"/);
  });

  test('that this release knows is read, with the members that an earlier one knew', () => {
    const bytes = `"eventBytes":"${hex(sealed.bytes)}","contentBytes":"${hex(sealed.content!)}","hash"`;
    const known = eventJson(sealed).replace('"hash"', bytes);
    const fewer = known.replace('"actor":"b",', '');
    expect(fewer).not.toBe(known);
    for (const earlier of [known, fewer]) expect(eventJson(parseEvent(earlier))).toBe(eventJson(sealed));
  });

  test.each([
    ['another owner than its bytes', line.replace('"owner":"a"', '"owner":"c"')],
    ['another position than its bytes', line.replace('"position":1', '"position":2')],
    ['another salt than its bytes', line.replace(/"salt":"\w\w/, '"salt":"')],
    ['no bytes of its content', line.replace(/"contentBytes":"\w+",/, '')],
    ['no bytes of its own', line.replace(/"eventBytes":"\w+",/, '')],
    ['bytes cut short', line.replace(/\w\w","contentBytes"/, '","contentBytes"')],
    ['an owner, although it is erased', erased.replace('"commitment"', '"owner":"a","commitment"')],
    [
      'bytes of a content, although it is erased',
      erased.replace('"hash"', `"contentBytes":"${hex(later.content!)}","hash"`),
    ],
  ])('is refused with %s', (_, other) => {
    expect([line, erased, eventJson(sealed)]).not.toContain(other);
    expect(() => parseEvent(other)).toThrow();
  });
});

test('a line that does not end is refused once it is longer than any event', async () => {
  let chunks = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      chunks++;
      yield Buffer.alloc(16_384, '{"');
    }
  }
  await expect(async () => {
    for await (const _ of decodeExport(endless()));
  }).rejects.toThrow('longer than any event');
  expect(chunks).toBeLessThan(10);
});

test.each([1, 100, 100_000])('bytes that are no UTF-8 are refused with their line, in chunks of %i', async (size) => {
  const bytes = Buffer.from(`${LINE}\n${LINE}\n${LINE}\n`);
  bytes[bytes.indexOf('Fern', LINE.length)] = 0xff;
  await expect(decoded(bytes, [size])).rejects.toThrow('line 2 of the export is not an event: it is not UTF-8');
});

const differing = (line: string, offset: number) =>
  [[line, `it is not as an export writes it, from character ${offset + 1} on`]] as const;

test('the head of an empty log has no time', () => {
  expect(headJson(EMPTY_HEAD)).toBe(`{"position":0,"hash":"${'00'.repeat(32)}"}`);
});

test('an export without the contents is told by the option that made it', async () => {
  const events = fc.sample(
    loggedArbitrary.filter(({ content }) => content !== undefined),
    2,
  );
  for (const { encodePublic } of Object.values(FORMATS))
    await expect(decoded(Buffer.from(encodePublic(events)))).rejects.toThrow('made with --public cannot be imported');
});

test('a line that is wrong is told by its number and what is wrong with it', async () => {
  const told = async (text: string): Promise<string> => {
    const error = await decoded(Buffer.from(`${LINE}\n${text}\n`)).catch((thrown: Error) => thrown);
    return (error as Error).message.replace('line 2 of the export is not an event: ', '');
  };
  for (const [text, what] of [
    ['null', 'it is no JSON object'],
    ['{"position":1}', 'eventId is missing'],
    [LINE.replace(/"hash":"[^"]*"/, '"hash":null'), 'hash is not hexadecimal'],
    [LINE.replace(/"hash":"[^"]*"/, '"hash":[]'), 'hash is not hexadecimal'],
    [LINE.replace(/,"hash":"[^"]*"/, ''), 'hash is missing'],
    [LINE.replace(/"salt":"[^"]*",/, ''), 'it has neither salt nor commitment'],
    [LINE.replace(/"time":"[^"]*"/, '"time":"today"'), 'time is not a time such as 2026-01-02T03:04:05.678Z'],
    [LINE.replace('"position":', '"position":-'), 'position is not a count'],
    [LINE.replace(/"eventId":"[^"]*"/, '"eventId":7'), 'eventId is not a text'],
    ...differing(LINE.replace('"hash"', '"more":1,"hash"'), LINE.indexOf('hash')),
    ...differing(LINE.replace('Fern', '🌿 \\ud800'), LINE.indexOf('Fern') + 2),
    ...differing(`${LINE} `, LINE.length),
  ] as const)
    expect(await told(text)).toBe(what);
  const notOne = 'this is no export: one in JSON begins with {"position", one in protobuf with the length of a record';
  for (const text of ['null\n', 'hello', '{}\n', `\n${LINE}`, '\ufeff{"'])
    await expect(decoded(Buffer.from(text))).rejects.toThrow(notOne);
});
