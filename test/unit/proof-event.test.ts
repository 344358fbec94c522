import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equal } from '../../console/src/proof/bytes.ts';
import { parseContent, parseEvent, parseRecord } from '../../console/src/proof/event.ts';
import { checkContent } from '../../console/src/proof/event-proof.ts';
import { encodeContent, encodeEvent } from '../../src/log/event/encode.ts';
import { plantEventOf } from '../../src/log/event/event.ts';
import { recordBytes } from '../../src/log/event/record.ts';
import { loggedArbitrary } from '../support/arbitraries.ts';
import { flipped } from '../support/proof-log.ts';

const bytes = (data: Uint8Array) => new Uint8Array(data);

describe('an event in its canonical bytes', () => {
  test('is read as the service wrote it', () => {
    fc.assert(
      fc.property(loggedArbitrary, (logged) => {
        const { position, eventId, time, type, commitment, event } = logged;
        const erased = event?.type === 'OwnerErased' ? event.erased : 0;
        expect(parseEvent(encodeEvent(logged))).toEqual({
          ...{ position, eventId, time, type, commitment, erased },
        });
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

describe('what an event says', () => {
  test('is read as the service wrote it, and with any bit flipped it is not what the event commits to', async () => {
    await fc.assert(
      fc.asyncProperty(loggedArbitrary, fc.nat(), async (logged, bit) => {
        if (logged.event === undefined) return;
        const content = bytes(encodeContent(logged.event, logged.salt!));
        const event = parseEvent(encodeEvent(logged));
        const plant = plantEventOf(logged);
        const { actor, issuer = '', traceparent = '' } = logged.event;
        expect(await checkContent(content, event)).toEqual({
          ...{ salt: bytes(logged.salt!), actor, issuer, traceparent },
          ...{ owner: plant?.owner ?? '', idempotencyKey: plant?.idempotencyKey ?? '' },
          ...(plant && {
            plant:
              plant.type === 'PlantDeleted'
                ? { id: plant.plantId }
                : { id: plant.plantId, name: plant.name, ...(plant.tag !== undefined && { tag: plant.tag }) },
          }),
        });
        await expect(checkContent(flipped(content, bit), event)).rejects.toThrow('it was changed');
      }),
    );
  });

  test('has to be of the type of the event', () => {
    const deleted = Uint8Array.of(0x0a, 16, ...new Array(16).fill(1), 0x42, 0);
    expect(parseContent(deleted, 'PlantDeleted').plant).toEqual({ id: 0n });
    for (const type of ['PlantAdded', 'OwnerErased', 'Other'])
      expect(() => parseContent(deleted, type)).toThrow(`it is not what an event ${type} says`);
  });
});

test('a record is read as the service wrote it, without its hash', () => {
  fc.assert(
    fc.property(loggedArbitrary, (logged) => {
      const record = parseRecord(recordBytes(logged));
      expect(equal(record.event, encodeEvent(logged))).toBe(true);
      expect(record.erasedBy).toBe(logged.erasedBy ?? 0);
      expect(record.content === undefined).toBe(logged.event === undefined);
      if (logged.event) expect(equal(record.content!, encodeContent(logged.event, logged.salt!))).toBe(true);
    }),
  );
});

test('the events of docs/audit.md are read from their bytes, and say what they commit to', async () => {
  const lines = readFileSync('docs/audit.md', 'utf8').split('\n');
  const written = lines.findIndex((line) => line.startsWith('{"position":1,'));
  for (let at = written; at < written + 12; at += 3) {
    const { position, type, owner = '', actor } = JSON.parse(lines[at]!);
    const event = parseEvent(Buffer.from(lines[at + 1]!, 'hex'));
    expect(event).toMatchObject({ position, type });
    expect(await checkContent(bytes(Buffer.from(lines[at + 2]!, 'hex')), event)).toMatchObject({ owner, actor });
  }
});

test.each([
  ['a field that is not known', '08017001', 'a field 14 that is not known'],
  ['fields that are not in ascending order', '1201610801', 'not in ascending order'],
  ['a field twice', '08010801', 'not in ascending order'],
  ['a default value', '0800', 'a default value'],
  ['a number in more bytes than it takes', '088100', 'not in canonical form'],
  ['a number beyond 64 bits', '08ffffffffffffffffff02', 'not in canonical form'],
  ['an end within a field', '0801120561', 'ends within field 2'],
  ['an end within a number', '0880', 'not in canonical form'],
  ['another type of field', '0a0101', 'of another type'],
  ['nothing', '', 'it has no field 1'],
])('%s is no event', (_what, hex, reason) => {
  expect(() => parseEvent(Buffer.from(hex, 'hex'))).toThrow(reason);
});
