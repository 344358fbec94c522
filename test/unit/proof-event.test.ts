import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventBytes, parseContent, parseEvent, timeOf } from '../../console/src/proof/event.ts';
import { checkContent } from '../../console/src/proof/event-proof.ts';
import { encodeEvent } from '../../src/log/event/encode.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { sameHash } from '../../src/tlog/hash.ts';
import { loggedArbitrary } from '../support/arbitraries.ts';
import { added, chain } from '../support/events.ts';

const [added1] = chain(EMPTY_HEAD, [added('alice', 1n)]) as [ReturnType<typeof chain>[number]];

// That nothing else is proved, and that receipts are read, test/full/unit/proof-log.test.ts shows.
test('an event in its canonical bytes is read as the service wrote it', () => {
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

test('what an event says has to be of the type of the event', () => {
  const deleted = Uint8Array.of(0x0a, 16, ...new Array(16).fill(1), 0x42, 0);
  expect(parseContent(deleted, 'PlantDeleted').data).toMatchObject({ case: 'plantDeleted', value: { id: 0n } });
  for (const type of ['PlantAdded', 'OwnerErased', 'Other'])
    expect(() => parseContent(deleted, type)).toThrow(`it is not what an event ${type} says`);
});

test('the events of docs/audit.md are read from their bytes, and say what they commit to', () => {
  const lines = readFileSync('docs/audit.md', 'utf8').split('\n');
  const written = lines.findIndex((line) => line.startsWith('{"position":1,'));
  for (let at = written; at < written + 12; at += 3) {
    const { position, type, owner = '', actor } = JSON.parse(lines[at]!);
    const event = parseEvent(Buffer.from(lines[at + 1]!, 'hex'));
    expect(event).toMatchObject({ position: BigInt(position), type });
    const content = new Uint8Array(Buffer.from(lines[at + 2]!, 'hex'));
    expect(checkContent(content, event)).toMatchObject({ owner, actor });
    content[2]! ^= 1;
    expect(() => checkContent(content, event)).toThrow('it was changed');
  }
});

test.each([
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

test('a field of a later release stays in the bytes of an event', () => {
  const later = Buffer.concat([encodeEvent(added1), Buffer.from('7001', 'hex')]);
  expect(Buffer.from(eventBytes(parseEvent(later)))).toEqual(later);
});

test.each([
  ['nothing', ''],
  ['an event without a position', '120161'],
  ['an event with a commitment of one byte', '08011201611a02080122036162632a01ff'],
  ['text that is not UTF-8', '08011201ff'],
])('%s is no event', (_what, hex) => {
  expect(() => parseEvent(Buffer.from(hex, 'hex'))).toThrow('not those of an event');
});
