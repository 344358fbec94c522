import fc from 'fast-check';
import type { PlantCommand } from '../../src/domain/decider.ts';
import type { OwnerErased, PlantEvent } from '../../src/domain/events.ts';
import { MAX_INT64, MIN_INT64, PLANT_FIELDS, type Plant, withId } from '../../src/domain/plant.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { SALT_BYTES } from '../../src/log/event/fields.ts';
import { encoded } from './encoded.ts';
import { commitmentOf } from './events.ts';

/** Any int64, with the limits more often than at random. */
export const int64Arbitrary: fc.Arbitrary<bigint> = fc.oneof(
  fc.constantFrom(MIN_INT64, MAX_INT64, 0n, -1n, 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n),
  fc.bigInt({ min: MIN_INT64, max: MAX_INT64 }),
);

/** Well-formed text: empty, with NUL, with emoji, anything. */
export const textArbitrary: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('', '\u0000', 'a\u0000b', 'Fern', '🌱', 'é', 'e\u0301', '"\\\n'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);

/** Any value of each text of a plant. */
const plantTexts = Object.fromEntries(
  PLANT_FIELDS.map(({ name, isRequired }) => [
    name,
    isRequired ? textArbitrary : fc.option(textArbitrary, { nil: undefined }),
  ]),
) as unknown as { readonly [Name in keyof Plant]-?: fc.Arbitrary<Plant[Name]> };

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

const issuerArbitrary = fc.option(
  textArbitrary.filter((text) => text !== ''),
  { nil: undefined },
);

/** What an event of a plant says beside its type and texts. */
const aboutPlant = {
  owner: textArbitrary,
  actor: textArbitrary,
  issuer: issuerArbitrary,
  plantId: int64Arbitrary,
  idempotencyKey: idempotencyKeyArbitrary,
  traceparent: traceparentArbitrary,
};

/** Any event of each type of events of a plant. */
const ofTypes: { readonly [Type in PlantEvent['type']]: fc.Arbitrary<Extract<PlantEvent, { type: Type }>> } = {
  PlantAdded: fc.record({ type: fc.constant('PlantAdded'), ...aboutPlant, ...plantTexts }),
  PlantDeleted: fc.record({ type: fc.constant('PlantDeleted'), ...aboutPlant }),
};

/** Any event of a plant. */
export const eventArbitrary: fc.Arbitrary<PlantEvent> = fc.oneof(...Object.values(ofTypes));

const ownerErasedArbitrary: fc.Arbitrary<OwnerErased> = fc.record({
  type: fc.constant('OwnerErased' as const),
  actor: textArbitrary,
  issuer: issuerArbitrary,
  erased: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.maxSafeNat()),
  traceparent: traceparentArbitrary,
});

/** Any 16 bytes. */
export const saltArbitrary: fc.Arbitrary<Uint8Array> = fc.uint8Array({ minLength: SALT_BYTES, maxLength: SALT_BYTES });

/** Any event at any position, erased or not, with a valid commitment. Its hash is arbitrary. */
export const loggedArbitrary: fc.Arbitrary<LoggedEvent> = fc
  .record({
    position: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
    eventId: fc.uuid(),
    time: fc.integer({ min: 0, max: 4_102_444_800_000 }),
    event: fc.oneof({ weight: 4, arbitrary: eventArbitrary }, ownerErasedArbitrary),
    salt: saltArbitrary,
    hash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    erasedBy: fc.option(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), { nil: undefined }),
  })
  .map(({ position, eventId, time, event, salt, hash, erasedBy }): LoggedEvent => {
    const frame = {
      position,
      eventId,
      time,
      type: event.type,
      commitment: new Uint8Array(commitmentOf(event, salt)),
      hash,
    };
    return erasedBy === undefined || event.type === 'OwnerErased'
      ? encoded({ ...frame, event, salt })
      : encoded({ ...frame, event: undefined, salt: undefined, erasedBy });
  });

/** Commands on few keys, so that they conflict. */
export const commandArbitrary: fc.Arbitrary<PlantCommand> = fc
  .record({
    owner: fc.constantFrom('alice', 'bob', 'a', 'a\u0000'),
    id: fc.constantFrom(MIN_INT64, -1n, 0n, 7n, MAX_INT64),
    add: fc.boolean(),
    plant: fc.record(plantTexts),
  })
  .map(
    ({ owner, id, add, plant }): PlantCommand =>
      add
        ? { type: 'AddPlant', owner, actor: owner, plant: withId(id, plant) }
        : { type: 'DeletePlant', owner, actor: owner, id },
  );
