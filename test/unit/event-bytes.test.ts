import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ContentSchema, EventSchema } from '../../gen/plantstore/v1/event_pb.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { setFields } from '../../src/domain/plant.ts';
import { BrokenChainError, headAt, seal } from '../../src/log/event/chain.ts';
import { decode, decodeStored, headOf } from '../../src/log/event/decode.ts';
import { encodeContent, encodeEvent } from '../../src/log/event/encode.ts';
import { EMPTY_HEAD, type LoggedEvent, type StoredEvent } from '../../src/log/event/event.ts';
import { eventOfProvenRecord, eventOfRecord, provenRecordBytes, recordBytes } from '../../src/log/event/record.ts';
import { loggedArbitrary } from '../support/arbitraries.ts';
import { added, deleted, TRACEPARENT } from '../support/events.ts';
import { extended, unknownFieldsArbitrary } from '../support/extended.ts';
import { MALFORMED } from '../support/malformed.ts';
import { count } from '../support/soak.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const generatedEvent = ({ position, eventId, time, type, commitment, event }: LoggedEvent): Uint8Array =>
  toBinary(
    EventSchema,
    create(EventSchema, {
      position: BigInt(position),
      eventId,
      time: timestampFromMs(time),
      type,
      commitment,
      erased: event?.type === 'OwnerErased' ? BigInt(event.erased) : 0n,
    }),
  );

function dataOf(event: DomainEvent) {
  switch (event.type) {
    case 'PlantAdded':
      return { case: 'plantAdded' as const, value: { id: event.plantId, ...setFields(event) } };
    case 'PlantDeleted':
      return { case: 'plantDeleted' as const, value: { id: event.plantId } };
    case 'OwnerErased':
      return { case: undefined };
  }
}

const generatedContent = (event: DomainEvent, salt: Uint8Array): Uint8Array =>
  toBinary(
    ContentSchema,
    create(ContentSchema, {
      salt,
      owner: event.type === 'OwnerErased' ? '' : event.owner,
      actor: event.actor,
      issuer: event.issuer ?? '',
      data: dataOf(event),
      idempotencyKey: event.idempotencyKey ?? '',
      traceparent: event.traceparent ?? '',
    }),
  );

const anywhere = fc
  .record({
    logged: loggedArbitrary,
    position: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.maxSafeNat()),
    eventId: fc.oneof(fc.constant(''), fc.uuid()),
    time: fc.oneof(fc.constant(0), fc.integer({ min: -1_000_000, max: 2_000 }), fc.integer({ min: 0, max: 8.64e15 })),
  })
  .map(({ logged, ...place }): LoggedEvent => ({ ...logged, ...place }));

test('canonical bytes are what the generated message types write, of the event and of what it says', () => {
  fc.assert(
    fc.property(anywhere, (logged) => {
      expect(hex(encodeEvent(logged))).toBe(hex(generatedEvent(logged)));
      if (logged.event === undefined) return;
      expect(hex(encodeContent(logged.event, logged.salt!))).toBe(hex(generatedContent(logged.event, logged.salt!)));
    }),
    { numRuns: 1000 },
  );
});

test('the canonical bytes of an event are the same before and after what it says is erased', () => {
  fc.assert(
    fc.property(loggedArbitrary, (logged) => {
      fc.pre(logged.type !== 'OwnerErased');
      expect(hex(encodeEvent({ ...logged, event: undefined }))).toBe(hex(encodeEvent(logged)));
    }),
  );
});

/** What a store keeps of it. */
const stored = ({ position, bytes, hash, content, erasedBy }: LoggedEvent): StoredEvent => ({
  ...{ position, bytes, hash, content, erasedBy },
});

/** The event with its bytes in hexadecimal, whatever kind of array they are. */
const plain = (logged: LoggedEvent) =>
  Object.fromEntries(
    Object.entries(logged).map(([name, value]) => [name, value instanceof Uint8Array ? hex(value) : value]),
  );

/** What is decoded from the bytes, without the bytes. */
const membersOf = (logged: LoggedEvent) => {
  const { bytes: _, content: __, hash: ___, commitment: ____, isExtended: _____, ...members } = plain(logged);
  return members;
};

/** Any event, or the same with fields that this release does not know. */
const anyArbitrary = fc
  .tuple(loggedArbitrary, fc.option(unknownFieldsArbitrary, { nil: undefined }))
  .map(([logged, unknown]) => (unknown && logged.content ? extended(logged, unknown, EMPTY_HEAD) : logged));

/** The event in these bytes. Undefined: RangeError, which says that there is none. */
function decoded(kept: Omit<StoredEvent, 'position'>): LoggedEvent | undefined {
  try {
    return decode(kept);
  } catch (error) {
    if (!(error instanceof RangeError) || error.constructor !== RangeError) throw error;
    return undefined;
  }
}

/** Throws unless the event, if it is one of this release, has no other bytes. */
function expectCanonical(event: LoggedEvent | undefined): void {
  if (event === undefined || event.isExtended) return;
  expect(hex(encodeEvent(event))).toBe(hex(event.bytes));
  if (event.content) expect(hex(encodeContent(event.event!, event.salt!))).toBe(hex(event.content));
}

describe('an event is decoded from its bytes', () => {
  test('as it was, with or without content', () => {
    fc.assert(
      fc.property(loggedArbitrary, (logged) => {
        expect(plain(decodeStored(stored(logged)))).toEqual(plain(logged));
        expect(headOf(stored(logged))).toEqual(headAt(logged));
      }),
      { numRuns: 1_000 },
    );
  });

  test('as it was sealed', () => {
    const keyed = { ...added('alice', 7n, 'Fern', ''), idempotencyKey: 'k', traceparent: TRACEPARENT, issuer: 'i' };
    for (const event of [keyed, deleted('', 0n), { type: 'OwnerErased' as const, actor: 'o', erased: 0 }]) {
      const sealed = seal(EMPTY_HEAD, event, crypto.randomUUID(), Date.now());
      // An absent member and an undefined one are the same.
      expect(plain(decode(stored(sealed)))).toEqual(plain(sealed));
    }
  });

  test('with fields of later releases, which stay in its bytes and change nothing else', () => {
    fc.assert(
      fc.property(loggedArbitrary, unknownFieldsArbitrary, (logged, unknown) => {
        fc.pre(logged.content !== undefined);
        fc.pre(logged.type !== 'OwnerErased' || unknown.event.length + unknown.content.length > 0);
        const later = extended(logged, unknown, EMPTY_HEAD);
        expect(later.isExtended).toBe(true);
        expect(membersOf(later)).toEqual(membersOf(logged));
        for (const { bytes } of unknown.event) expect(hex(later.bytes)).toContain(hex(bytes));
        for (const { bytes } of [...unknown.content, ...(logged.type === 'OwnerErased' ? [] : unknown.data)])
          expect(hex(later.content!)).toContain(hex(bytes));
        if (logged.type === 'OwnerErased') return;
        const erased = decode({ ...stored(later), content: undefined, erasedBy: 9 });
        expect(hex(erased.bytes)).toBe(hex(later.bytes));
        expect(erased.isExtended).toBe(unknown.event.length > 0);
      }),
      { numRuns: 500 },
    );
  });

  test('as the generated types decode it, which write the same bytes again', () => {
    fc.assert(
      fc.property(anyArbitrary, (logged) => {
        const { position, eventId, type, time, commitment, content, event } = logged;
        const message = fromBinary(EventSchema, logged.bytes);
        const generated = { eventId, type, time: timestampFromMs(time), position: BigInt(position) };
        expect(message).toMatchObject({ ...generated, hash: new Uint8Array() });
        expect(hex(message.commitment)).toBe(hex(commitment));
        expect(hex(toBinary(EventSchema, message))).toBe(hex(logged.bytes));
        if (content === undefined) return;
        const said = fromBinary(ContentSchema, content);
        expect(said.actor).toBe(event!.actor);
        expect(said.data.value?.id).toBe(event!.type === 'OwnerErased' ? undefined : event!.plantId);
        expect(hex(toBinary(ContentSchema, said))).toBe(hex(content));
      }),
      { numRuns: 500 },
    );
  });
});

describe('an event has one form alone', () => {
  test('with any bit flipped it is another event, or none', () => {
    fc.assert(
      fc.property(anyArbitrary, fc.constantFrom('bytes', 'content'), fc.nat(), (logged, part, at) => {
        const bytes = logged[part];
        fc.pre(bytes !== undefined);
        const other = new Uint8Array(bytes!);
        other[Math.floor(at / 8) % other.length]! ^= 1 << (at % 8);
        const event = decoded({ ...stored(logged), [part]: other });
        expectCanonical(event);
        if (event === undefined || event.isExtended) return;
        // The commitment is of the content as it was.
        expect({ ...membersOf(event), commitment: hex(event.commitment) }).not.toEqual({
          ...membersOf(logged),
          commitment: hex(logged.commitment),
        });
      }),
      { numRuns: count(5_000, 20_000) },
    );
  });

  test('with bytes taken out, put in or doubled it is another event, or none', () => {
    const edit = fc.record({ at: fc.nat(), length: fc.nat({ max: 20 }), from: fc.nat(), more: fc.uint8Array() });
    fc.assert(
      fc.property(
        anyArbitrary,
        fc.constantFrom('bytes', 'content'),
        edit,
        (logged, part, { at, length, from, more }) => {
          const bytes = logged[part];
          fc.pre(bytes !== undefined);
          const doubled = bytes!.subarray(from % bytes!.length, (from % bytes!.length) + length);
          const start = at % (bytes!.length + 1);
          for (const put of [new Uint8Array(), more, doubled]) {
            const rest = bytes!.subarray(put.length > 0 ? start : start + length);
            const other = Buffer.concat([bytes!.subarray(0, start), put, rest]);
            expectCanonical(decoded({ ...stored(logged), [part]: other }));
          }
        },
      ),
      { numRuns: count(1_500, 5_000) },
    );
  });

  test('whatever other bytes there are, nothing else is thrown', () => {
    fc.assert(
      fc.property(loggedArbitrary, fc.uint8Array({ maxLength: 400 }), fc.uint8Array(), (logged, bytes, short) => {
        expectCanonical(decoded({ ...stored(logged), bytes }));
        expectCanonical(decoded({ ...stored(logged), content: bytes, erasedBy: undefined }));
        expectCanonical(decoded({ ...stored(logged), hash: short }));
        for (const read of [eventOfRecord, eventOfProvenRecord])
          for (const record of [bytes, Buffer.concat([recordBytes(logged), short])])
            try {
              expectCanonical(read(record));
            } catch (error) {
              expect(error).toBeInstanceOf(Error);
            }
      }),
      { numRuns: count(1_500, 5_000) },
    );
  });

  test('a record with it is read in the form alone in which it is written', () => {
    fc.assert(
      fc.property(anyArbitrary, fc.nat(), (logged, at) => {
        for (const [write, read] of [
          [recordBytes, eventOfRecord],
          [provenRecordBytes, eventOfProvenRecord],
        ] as const) {
          const record = write(logged);
          const hash = write === recordBytes ? logged.hash : new Uint8Array(32);
          expect(plain(read(record))).toEqual(plain({ ...logged, hash }));
          const other = new Uint8Array(record);
          other[Math.floor(at / 8) % other.length]! ^= 1 << (at % 8);
          try {
            expect(hex(write(read(other)))).toBe(hex(other));
          } catch (error) {
            expect(error).toBeInstanceOf(Error);
          }
        }
      }),
      { numRuns: count(1_500, 5_000) },
    );
  });

  test('as many unknown fields as an event can hold are read at once', () => {
    const sealed = seal(EMPTY_HEAD, added('alice', 1n), 'e', 0);
    const many = Buffer.concat([sealed.bytes, Buffer.alloc(2_000_000, Uint8Array.of(0x48, 0x01))]);
    const start = performance.now();
    expect(decode({ ...stored(sealed), bytes: many }).isExtended).toBe(true);
    // A million fields; quadratic work would take minutes.
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});

test('events that stay in memory lie beside each other, however many records are made for a moment in between', () => {
  const memory = [1n, 2n, 3n].map((id) => {
    const sealed = seal(EMPTY_HEAD, added('alice', id), 'e', 0);
    for (let records = 0; records < 1_000; records++) recordBytes(sealed);
    return sealed.bytes.buffer;
  });
  expect(new Set(memory).size).toBeLessThan(3);
});

/** One event of each type. */
const SAMPLES = [
  { ...added('alice', 7n, 'Fern', 'indoor'), issuer: 'i', idempotencyKey: 'k', traceparent: TRACEPARENT },
  deleted('alice', 7n),
  { type: 'OwnerErased' as const, actor: 'o', erased: 3 },
].map((event, index) => seal({ ...EMPTY_HEAD, position: index + 3 }, event, crypto.randomUUID(), Date.now()));

test.each(MALFORMED)('$name is no event: its place is named', ({ of, change }) => {
  const logged = SAMPLES.find(({ type }) => type === of)!;
  const { event: bytes, ...rest } = change(logged);
  const kept = { ...stored(logged), ...(bytes !== undefined && { bytes }), ...rest } as StoredEvent;
  expect(() => decodeStored(kept)).toThrow(BrokenChainError);
  expect(() => decodeStored(kept)).toThrow(`the log is broken at position ${logged.position}: `);
  if (rest.content === undefined && rest.erasedBy === undefined) return;
  // Nobody needs the content for the end of the log.
  expect(headOf(kept)).toEqual(headAt(logged));
});
