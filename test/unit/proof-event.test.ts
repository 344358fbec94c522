import { readFileSync } from 'node:fs';
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  contentBytes,
  eventBytes,
  parseContent,
  parseEvent,
  parseRecord,
  timeOf,
} from '../../console/src/proof/event.ts';
import { checkContent } from '../../console/src/proof/event-proof.ts';
import { ContentSchema } from '../../gen/plantstore/v1/event_pb.ts';
import type { PlantEvent } from '../../src/domain/events.ts';
import { encodeContent, encodeEvent } from '../../src/log/event/encode.ts';
import { EMPTY_HEAD, plantEventOf } from '../../src/log/event/event.ts';
import { recordBytes } from '../../src/log/event/record.ts';
import { sameHash } from '../../src/tlog/hash.ts';
import { loggedArbitrary } from '../support/arbitraries.ts';
import { added, chain } from '../support/events.ts';
import { flipped } from '../support/proof-log.ts';

const [added1] = chain(EMPTY_HEAD, [added('alice', 1n)]) as [ReturnType<typeof chain>[number]];

const bytes = (data: Uint8Array) => new Uint8Array(data);

describe('an event in its canonical bytes', () => {
  test('is read as the service wrote it', () => {
    fc.assert(
      fc.property(loggedArbitrary, (logged) => {
        const { position, eventId, time, type, commitment, event } = logged;
        const erased = event?.type === 'OwnerErased' ? event.erased : 0;
        const parsed = parseEvent(encodeEvent(logged));
        expect(parsed).toMatchObject({ position: BigInt(position), eventId, type, erased: BigInt(erased) });
        expect([timeOf(parsed), sameHash(parsed.commitment, commitment)]).toEqual([time, true]);
      }),
    );
  });

  test('has one form alone: with any bit flipped it is another event, or none', () => {
    fc.assert(
      fc.property(loggedArbitrary, fc.nat(), (logged, bit) => {
        const canonical = bytes(encodeEvent(logged));
        const event = parseEvent(canonical);
        let other: unknown;
        try {
          other = parseEvent(flipped(canonical, bit));
        } catch {
          return;
        }
        expect(other).not.toEqual(event);
      }),
      { numRuns: 2_000 },
    );
  });
});

const dataOf = (plant: PlantEvent) =>
  plant.type === 'PlantDeleted'
    ? { case: 'plantDeleted' as const, value: { id: plant.plantId } }
    : {
        case: 'plantAdded' as const,
        value: { id: plant.plantId, name: plant.name, ...(plant.tag !== undefined && { tag: plant.tag }) },
      };

describe('what an event says', () => {
  test('is read as the service wrote it, and with any bit flipped it is not what the event commits to', () => {
    fc.assert(
      fc.property(loggedArbitrary, fc.nat(), (logged, bit) => {
        if (logged.event === undefined) return;
        const content = bytes(encodeContent(logged.event, logged.salt!));
        const event = parseEvent(encodeEvent(logged));
        const plant = plantEventOf(logged);
        const { actor, issuer = '', traceparent = '' } = logged.event;
        expect(checkContent(content, event)).toEqual(
          create(ContentSchema, {
            ...{ salt: bytes(logged.salt!), actor, issuer, traceparent },
            ...{ owner: plant?.owner ?? '', idempotencyKey: plant?.idempotencyKey ?? '' },
            ...(plant && { data: dataOf(plant) }),
          }),
        );
        expect(() => checkContent(flipped(content, bit), event)).toThrow('it was changed');
      }),
    );
  });

  test('has to be of the type of the event', () => {
    const deleted = Uint8Array.of(0x0a, 16, ...new Array(16).fill(1), 0x42, 0);
    expect(parseContent(deleted, 'PlantDeleted').data).toMatchObject({ case: 'plantDeleted', value: { id: 0n } });
    for (const type of ['PlantAdded', 'OwnerErased', 'Other'])
      expect(() => parseContent(deleted, type)).toThrow(`it is not what an event ${type} says`);
  });
});

test('a record is read as the service wrote it, without its hash', () => {
  fc.assert(
    fc.property(loggedArbitrary, (logged) => {
      const record = parseRecord(recordBytes(logged));
      expect(sameHash(eventBytes(record.event), encodeEvent(logged))).toBe(true);
      expect(record.erasedBy).toBe(BigInt(logged.erasedBy ?? 0));
      expect(record.content === undefined).toBe(logged.event === undefined);
      if (logged.event)
        expect(sameHash(contentBytes(record.content!), encodeContent(logged.event, logged.salt!))).toBe(true);
    }),
  );
});

test('the events of docs/audit.md are read from their bytes, and say what they commit to', () => {
  const lines = readFileSync('docs/audit.md', 'utf8').split('\n');
  const written = lines.findIndex((line) => line.startsWith('{"position":1,'));
  for (let at = written; at < written + 12; at += 3) {
    const { position, type, owner = '', actor } = JSON.parse(lines[at]!);
    const event = parseEvent(Buffer.from(lines[at + 1]!, 'hex'));
    expect(event).toMatchObject({ position: BigInt(position), type });
    expect(checkContent(bytes(Buffer.from(lines[at + 2]!, 'hex')), event)).toMatchObject({ owner, actor });
  }
});

test.each([
  ['a field that is not known', '7001', 'not in canonical form'],
  ['fields that are not in ascending order', '0802', 'not in canonical form'],
  ['an empty field', '3200', ''],
  ['a default value', '3000', 'not in canonical form'],
  ['a number in more bytes than it takes', '308100', 'not in canonical form'],
  ['a number beyond 64 bits', '30ffffffffffffffffff02', 'not in canonical form'],
  ['a count below 0', '30ffffffffffffffffff01', 'out of range'],
  ['a hash of the chain', `7a20${'01'.repeat(32)}`, 'other hashes'],
  ['an end within a field', '7a0561', 'premature EOF'],
  ['an end within a number', '3080', ''],
])('%s after what an event has is no event', (_what, hex, reason) => {
  const event = encodeEvent(added1);
  expect(parseEvent(event).position).toBe(1n);
  expect(() => parseEvent(Buffer.concat([event, Buffer.from(hex, 'hex')]))).toThrow(reason);
});

test.each([
  ['nothing', ''],
  ['an event without a position', '120161'],
  ['text that is not UTF-8', '08011201ff'],
])('%s is no event', (_what, hex) => {
  expect(() => parseEvent(Buffer.from(hex, 'hex'))).toThrow('not those of an event');
});
