import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventSchema } from '../../gen/plantstore/v1/event_pb.ts';
import { canonicalBytes } from '../../src/log/canonical.ts';
import type { LoggedEvent } from '../../src/log/event.ts';
import { eventArbitrary } from '../support/arbitraries.ts';

const generated = ({ position, eventId, time, event }: Omit<LoggedEvent, 'hash'>): Uint8Array => {
  const { owner, actor, plantId: id } = event;
  const data =
    event.type === 'PlantAdded'
      ? {
          case: 'plantAdded' as const,
          value: event.tag === undefined ? { id, name: event.name } : { id, name: event.name, tag: event.tag },
        }
      : { case: 'plantDeleted' as const, value: { id } };
  return toBinary(
    EventSchema,
    create(EventSchema, {
      position: BigInt(position),
      eventId,
      time: timestampFromMs(time),
      owner,
      actor,
      data,
      idempotencyKey: event.idempotencyKey ?? '',
      traceparent: event.traceparent ?? '',
    }),
  );
};

test('canonical bytes are what the generated message type writes', () => {
  fc.assert(
    fc.property(
      fc.record({
        position: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.maxSafeNat()),
        eventId: fc.oneof(fc.constant(''), fc.uuid()),
        time: fc.oneof(
          fc.constant(0),
          fc.integer({ min: -1_000_000, max: 2_000 }),
          fc.integer({ min: 0, max: 8.64e15 }),
        ),
        event: eventArbitrary,
      }),
      (event) => {
        expect(Buffer.from(canonicalBytes(event)).toString('hex')).toBe(Buffer.from(generated(event)).toString('hex'));
      },
    ),
    { numRuns: 1000 },
  );
});
