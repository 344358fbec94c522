import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ContentSchema, EventSchema } from '../../gen/plantstore/v1/event_pb.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { encodeContent, encodeEvent } from '../../src/log/event/encode.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { loggedArbitrary } from '../support/arbitraries.ts';

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
    case 'PlantAdded': {
      const { plantId: id, name, tag } = event;
      return { case: 'plantAdded' as const, value: tag === undefined ? { id, name } : { id, name, tag } };
    }
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
