import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide, type EraseOwner, type PlantCommand, plantIdOf } from '../../src/domain/decider.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { PlantEvent } from '../../src/domain/events.ts';
import { idempotencyString } from '../../src/domain/idempotency.ts';
import { plan } from '../../src/log/commit/plan.ts';
import { headAt } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Head } from '../../src/log/event/event.ts';
import { type LoggedPlantEvent, ofPlants } from '../support/events.ts';
import { verifyLog } from '../support/fold.ts';

/** Commands that meet: on few plants, with few keys. */
const command: fc.Arbitrary<PlantCommand> = fc
  .record({
    owner: fc.constantFrom('alice', 'bob'),
    id: fc.constantFrom(1n, 2n),
    idempotencyKey: fc.constantFrom(undefined, 'a', 'b', 'c'),
    add: fc.boolean(),
    tag: fc.constantFrom(undefined, ''),
    actor: fc.constantFrom('one', 'other'),
  })
  .map(({ owner, actor, id, idempotencyKey, add, tag }) =>
    add
      ? { type: 'AddPlant', owner, actor, idempotencyKey, plant: { id, name: 'Fern', tag } }
      : { type: 'DeletePlant', owner, actor, idempotencyKey, id },
  );

const DAY = 24 * 60 * 60 * 1_000;

/** Batches, and by how much the clock moves before each: back at times, and at times by a day. */
const batches = fc.array(
  fc.record({
    commands: fc.array(command, { minLength: 1, maxLength: 8 }),
    clock: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.integer({ min: DAY - 2, max: DAY + 2 })),
  }),
  { maxLength: 8 },
);

/** What an event says, as the request for it says it, whoever of the owner's sends it. */
const contentOf = ({ actor: _, ...event }: PlantEvent) => JSON.stringify({ ...event, plantId: String(event.plantId) });

/**
 * The plainest telling of what a command gets after these events: an event of theirs, a reason, or what is to be
 * appended.
 */
function told(events: readonly LoggedPlantEvent[], asked: PlantCommand): LoggedPlantEvent | string | PlantEvent {
  const { owner, idempotencyKey } = asked;
  const wanted = (isThere: boolean) => decide(asked, isThere);
  const earlier = events.findLast(({ event }) => event.owner === owner && event.idempotencyKey === idempotencyKey);
  if (idempotencyKey !== undefined && earlier !== undefined) {
    const decision = wanted(asked.type === 'DeletePlant');
    const isSame = !(decision instanceof PlantStoreError) && contentOf(decision) === contentOf(earlier.event);
    return isSame ? earlier : 'IDEMPOTENCY_KEY_REUSED';
  }
  const own = events.filter(({ event }) => event.owner === owner && event.plantId === plantIdOf(asked));
  const decision = wanted(own.at(-1)?.event.type === 'PlantAdded');
  return decision instanceof PlantStoreError ? decision.reason : decision;
}

test('in batches as one after the other, with and without keys, whatever the clock says', () => {
  const seen = { event: 0, replay: 0, reuse: 0 };
  fc.assert(
    fc.property(batches, (run) => {
      const log: LoggedPlantEvent[] = [];
      let head: Head = EMPTY_HEAD;
      let clock = Date.UTC(2026);
      for (const step of run) {
        clock += step.clock;
        const before = [...log];
        const isThere = (one: PlantCommand) =>
          before.findLast(({ event }) => event.owner === one.owner && event.plantId === plantIdOf(one))?.event.type ===
          'PlantAdded';
        const eventOf = (one: PlantCommand) =>
          before.findLast(({ event }) => idempotencyString(event) === idempotencyString(one));
        const submitted = step.commands.map((one) => ({ command: one, eventId: randomUUID() }));
        const { events, decisions } = plan(head, submitted, { isThere, eventOf, countSince: () => undefined }, clock);
        for (const [index, { outcome, needs }] of decisions.entries()) {
          const expected = told(log, step.commands[index]!);
          // A refusal and a replay rest on what they were decided after, and on an append at all.
          const unchanged = Math.max(1, log.length - before.length);
          if (outcome instanceof PlantStoreError) {
            expect(outcome.reason).toBe(expected);
            expect(needs).toBe(unchanged);
            if (expected === 'IDEMPOTENCY_KEY_REUSED') seen.reuse++;
          } else if (typeof expected === 'object' && 'position' in expected) {
            expect(outcome).toEqual({ ...expected, replayed: true });
            expect(needs).toBe(unchanged);
            seen.replay++;
          } else {
            expect(outcome.event).toEqual(expected);
            expect(outcome.replayed).toBeUndefined();
            // An event rests on itself being in the log, and on nothing else.
            expect(needs).toBe(outcome.position - before.length);
            log.push(...ofPlants([outcome]));
            seen.event++;
          }
        }
        expect(log).toEqual([...before, ...events]);
        head = log.length === 0 ? EMPTY_HEAD : headAt(log.at(-1)!);
      }
      verifyLog(log);
    }),
    { numRuns: 500 },
  );
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(100);
});

test('an erasure ends what the owner has in the batch too, and counts it', () => {
  const owner = 'alice';
  const of = (one: PlantCommand | EraseOwner) => ({ command: one, eventId: randomUUID() });
  const add = (id: bigint, key?: string): PlantCommand => ({
    ...{ type: 'AddPlant', owner, actor: owner, idempotencyKey: key },
    plant: { id, name: 'Fern', tag: undefined },
  });
  const erase: EraseOwner = {
    type: 'EraseOwner',
    owner,
    actor: 'op',
    counted: 5,
    countedTo: 0,
    key: new Uint8Array(16),
  };
  const commands = [
    add(1n, 'k'),
    erase,
    add(1n, 'k'),
    { ...add(2n), type: 'DeletePlant', id: 2n } as PlantCommand,
    erase,
  ];
  const known = { isThere: () => true, eventOf: () => undefined, countSince: () => 2 };
  const { decisions } = plan(
    EMPTY_HEAD,
    [add(7n, 'k'), ...commands.slice(1)].map(of),
    { ...known, isThere: (one) => plantIdOf(one) !== 7n },
    0,
  );
  const told = decisions.map(({ outcome }) =>
    outcome instanceof PlantStoreError
      ? outcome.reason
      : outcome.event?.type === 'OwnerErased'
        ? outcome.event.erased
        : outcome.type,
  );
  expect(told).toEqual(['PlantAdded', 8, 'PlantAdded', 'PLANT_NOT_FOUND', 'COUNT_OUTDATED']);
  const again = plan(EMPTY_HEAD, [of(erase), of(erase)], known, 0).decisions.map(({ outcome }) => outcome);
  expect(again[1]).toMatchObject({ reason: 'COUNT_OUTDATED' });
});
