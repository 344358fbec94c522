import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { Follower } from '../../src/log/tail/follower.ts';
import { readLog } from '../../src/log/tail/read.ts';
import { Tail } from '../../src/log/tail/tail.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, project } from '../support/events.ts';

/** Events that another instance appends, and how many of all the tail then drops; in some steps the reader goes on. */
const steps = fc.array(fc.record({ events: fc.nat(5), projected: fc.nat(5), reads: fc.boolean() }), { maxLength: 12 });

test('who follows the log gets every event once and in order, wherever the tail begins meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(0, 2_000), async (run, recentBytes) => {
      const { store } = await openMemoryStore();
      const tail = new Tail(EMPTY_HEAD, recentBytes);
      const follower = new Follower(store, tail);
      const following = readLog(follower, 0, { follow: true });
      const read: number[] = [];
      let end = 0;
      let next: Promise<IteratorResult<readonly LoggedEvent[]>> = following.next();
      const goOn = async () => {
        const { value } = await next;
        read.push(...(value as readonly LoggedEvent[]).map(({ position }) => position));
        next = following.next();
      };
      for (const { events, projected, reads } of run) {
        await append(store, ...Array.from({ length: events }, () => added('alice', BigInt(++end))));
        await follower.sync();
        tail.projected(await project(store, projected));
        if (reads && read.length < end) await goOn();
      }
      const rest = async () => {
        while (read.length < end) await goOn();
      };
      const patience = async () => {
        for (let turns = 0; turns < 200; turns++) await turn();
      };
      await Promise.race([rest(), patience()]);
      expect(read).toEqual(Array.from({ length: end }, (_, index) => index + 1));
    }),
    { numRuns: 100 },
  );
});
