import fc from 'fast-check';
import type { Command } from '../../src/domain/decider.ts';
import type { PlantEvent } from '../../src/domain/events.ts';
import { MAX_INT64, MIN_INT64 } from '../../src/domain/plant.ts';

/** Any int64, with the edges more often than chance would have them. */
export const int64Arbitrary: fc.Arbitrary<bigint> = fc.oneof(
  fc.constantFrom(MIN_INT64, MAX_INT64, 0n, -1n, 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n),
  fc.bigInt({ min: MIN_INT64, max: MAX_INT64 }),
);

/** Well-formed text: empty, with NUL, with emoji, anything. */
export const textArbitrary: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('', '\u0000', 'a\u0000b', 'Fern', '🌱', 'é', 'e\u0301', '"\\\n'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);

const tagArbitrary = fc.option(textArbitrary, { nil: undefined });

const idempotencyKeyArbitrary = fc.option(
  fc.oneof(fc.constantFrom('k', '1:k'), fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 9 })),
  { nil: undefined },
);

/** Any event. */
export const eventArbitrary: fc.Arbitrary<PlantEvent> = fc.oneof(
  fc.record({
    type: fc.constant('PlantAdded' as const),
    owner: textArbitrary,
    actor: textArbitrary,
    plantId: int64Arbitrary,
    name: textArbitrary,
    tag: tagArbitrary,
    idempotencyKey: idempotencyKeyArbitrary,
  }),
  fc.record({
    type: fc.constant('PlantDeleted' as const),
    owner: textArbitrary,
    actor: textArbitrary,
    plantId: int64Arbitrary,
    idempotencyKey: idempotencyKeyArbitrary,
  }),
);

/** Commands on few keys, so that they meet. */
export const commandArbitrary: fc.Arbitrary<Command> = fc
  .record({
    owner: fc.constantFrom('alice', 'bob', 'a', 'a\u0000'),
    id: fc.constantFrom(MIN_INT64, -1n, 0n, 7n, MAX_INT64),
    add: fc.boolean(),
    name: textArbitrary,
    tag: tagArbitrary,
  })
  .map(
    ({ owner, id, add, name, tag }): Command =>
      add
        ? { type: 'AddPlant', owner, actor: owner, plant: { id, name, tag } }
        : { type: 'DeletePlant', owner, actor: owner, id },
  );
