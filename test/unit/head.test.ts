import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { openLog } from '../../src/log/log.ts';
import { Follower } from '../../src/log/tail/follower.ts';
import { Tail } from '../../src/log/tail/tail.ts';
import { ListCache } from '../../src/log/view/list-cache.ts';
import { Lists } from '../../src/log/view/lists.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, chain, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';

test('plants are not learned from rows that somebody has set back', async () => {
  const { store } = await openMemoryStore();
  await append(store, added('alice', 1n));
  await project(store);
  const setBack = override(store, {
    lease: async () => false,
    list: async (...asked) => ({ ...(await store.list(...asked)), rows: [], checkpoint: 0 }),
  });
  const log = await openLog(setBack, { onFault: () => {} });
  const remove = (id: bigint) => log.submit({ type: 'DeletePlant', owner: 'alice', actor: 'alice', id });
  for (let times = 0; times < 3; times++) {
    await expect(remove(99n)).rejects.toMatchObject({ reason: 'PLANT_NOT_FOUND' });
    await turn();
  }
  expect(await remove(1n)).toMatchObject({ position: 2 });
  await log.close();
});

test('a list is shared with nobody who asks after it was merged', async () => {
  const { store } = await openMemoryStore();
  const [first, later] = chain(EMPTY_HEAD, [added('alice', 1n), added('alice', 2n, 'Oak')]);
  const tail = new Tail(EMPTY_HEAD);
  tail.extend([first!]);
  const follower = new Follower(store, tail);
  vi.spyOn(follower, 'revalidateRows').mockReturnValue(undefined);
  const look = Promise.withResolvers<void>();
  vi.spyOn(follower, 'sync').mockResolvedValueOnce(undefined).mockReturnValueOnce(look.promise);
  /** As a list is merged, an event comes, and the look of another caller ends. */
  class MergedCache extends ListCache {
    override set(): void {
      if (tail.head.position === 2) return;
      tail.extend([later!]);
      look.resolve();
    }
  }
  const lists = new Lists(follower, new MergedCache(0), 1);
  const query = { owner: 'alice', after: undefined, limit: undefined };
  const [one, other] = await Promise.all([lists.list(query), lists.list(query)]);
  expect([one.position, other.position]).toEqual([1, 2]);
});

test('plants that are asked for at once are read at once, each for the one who asked', async () => {
  const { store } = await openMemoryStore();
  await append(store, added('alice', 1n, 'Fern'), added('bob', 1n, 'Oak'));
  await project(store);
  const reads: number[] = [];
  const counted = override(store, {
    get: (keys) => {
      reads.push(keys.length);
      return store.get(keys);
    },
  });
  const log = await openLog(counted, { onFault: () => {} });
  const named = async (owner: string, id: bigint) => (await log.get({ owner, id }))?.name;
  const asked = Array.from({ length: 20 }, () => [named('alice', 1n), named('bob', 1n), named('bob', 2n)]).flat();
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['Fern', 'Oak', undefined]));
  expect((await Promise.all(asked)).slice(0, 3)).toEqual(['Fern', 'Oak', undefined]);
  expect(reads).toEqual([60]);
  await log.close();
});
