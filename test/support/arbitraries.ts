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

const hexArbitrary = (digits: number) =>
  fc
    .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits })
    .filter((hex) => /[^0]/.test(hex));

/** A `traceparent` (W3C Trace Context, version 00), or none. */
const traceparentArbitrary = fc.option(
  fc
    .tuple(hexArbitrary(32), hexArbitrary(16), fc.constantFrom('00', '01', '03', 'ff'))
    .map(([traceId, spanId, flags]) => `00-${traceId}-${spanId}-${flags}`),
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
    traceparent: traceparentArbitrary,
  }),
  fc.record({
    type: fc.constant('PlantDeleted' as const),
    owner: textArbitrary,
    actor: textArbitrary,
    plantId: int64Arbitrary,
    idempotencyKey: idempotencyKeyArbitrary,
    traceparent: traceparentArbitrary,
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
