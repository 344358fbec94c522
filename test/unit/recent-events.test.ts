import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { sizeOf } from '../../src/log/tail/tail.ts';
import { RecentEvents } from '../../src/plants/watch/recent-events.ts';
import { added } from '../support/events.ts';

/** An event without the members that RecentEvents leaves alone. `owner`: undefined for an erased content. */
const eventOf = (position: number, owner: string | undefined) =>
  ({ position, event: owner === undefined ? undefined : added(owner, BigInt(position)) }) as LoggedEvent;

const ownerArbitrary = fc.constantFrom('alice', 'bob', 'carol', undefined);

test("an owner gets all own events after a position, or none, whatever the others' are", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(ownerArbitrary, { maxLength: 5 }), { maxLength: 30 }),
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 0, max: 20 }),
      (batches, most, bytes) => {
        const bounds = { events: most, bytes: bytes * sizeOf(eventOf(1, 'alice')) };
        const recent = new RecentEvents(bounds, 0);
        let all: LoggedEvent[] = [];
        let head = 0;
        for (const batch of batches) {
          const news = batch.map((owner) => eventOf(++head, owner));
          recent.add(news);
          all.push(...news);
          const size = () => all.reduce((sum, logged) => sum + sizeOf(logged), 0);
          while (all.length > bounds.events || size() > bounds.bytes) all = all.slice(1);
          for (let position = 0; position <= head + 1; position++)
            for (const owner of ['alice', 'bob', 'nobody'])
              expect(recent.after(position, owner)).toEqual(
                position < head - all.length || position > head
                  ? undefined
                  : all.filter((logged) => logged.position > position && ownerOf(logged) === owner),
              );
        }
        recent.forget();
        expect(recent.after(head, 'alice')).toEqual([]);
        expect(recent.after(head - 1, 'alice')).toBeUndefined();
      },
    ),
  );
});

const ownerOf = ({ event }: LoggedEvent) => (event as { owner?: string } | undefined)?.owner;

test("to find an owner's events, it looks at none of the others'", () => {
  let looks = 0;
  const seen = (logged: LoggedEvent): LoggedEvent => ({
    ...logged,
    get event() {
      looks++;
      return logged.event;
    },
  });
  const recent = new RecentEvents({ events: 10_000, bytes: Number.POSITIVE_INFINITY }, 0);
  recent.add(Array.from({ length: 10_000 }, (_, index) => seen(eventOf(index + 1, index % 1_000 ? 'bob' : 'alice'))));
  looks = 0;
  expect(recent.after(0, 'alice')).toHaveLength(10);
  expect(looks).toBeLessThanOrEqual(20);
});
