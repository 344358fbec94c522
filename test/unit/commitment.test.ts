import { expect, test } from 'vitest';
import { publicEventJson } from '../../src/audit/formats/event-json.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { commitmentOf } from '../support/events.ts';

const OWNERS = ['alice', 'bob', 'carol'];
const NAMES = ['Fern', 'Moss', 'Ivy'];

/** All that a guesser who knows every owner, name and id can think of. */
const guesses: DomainEvent[] = OWNERS.flatMap((owner) =>
  NAMES.flatMap((name) =>
    [0n, 1n, 2n].map(
      (plantId): DomainEvent => ({ type: 'PlantAdded', owner, actor: owner, plantId, name, tag: undefined }),
    ),
  ),
);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('with the events alone and every owner and name there is, no commitment is matched, and no two events are linked', () => {
  const published = guesses.flatMap((event) => [seal(EMPTY_HEAD, event, 'e', 0), seal(EMPTY_HEAD, event, 'e', 0)]);
  const commitments = new Set(published.map(({ commitment }) => hex(commitment)));
  // The same content twice has two commitments.
  expect(commitments.size).toBe(published.length);
  const salts = [
    new Uint8Array(16),
    new Uint8Array(16).fill(255),
    ...published.map(({ hash }) => hash.subarray(0, 16)),
  ];
  for (const guess of guesses)
    for (const salt of salts) expect(commitments.has(hex(commitmentOf(guess, salt)))).toBe(false);
  // The guess is right once the salt is known: what keeps it from matching is the salt alone.
  const [first] = published;
  expect(hex(commitmentOf(guesses[0]!, first!.salt!))).toBe(hex(first!.commitment));
  for (const event of published)
    for (const said of [...OWNERS, ...NAMES, hex(event.salt!)]) expect(publicEventJson(event)).not.toContain(said);
});
