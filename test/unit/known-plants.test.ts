import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KnownPlants } from '../../src/log/commit/known-plants.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import type { Store } from '../../src/log/store.ts';
import { Follower } from '../../src/log/tail/follower.ts';
import { Tail } from '../../src/log/tail/tail.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { override } from '../support/faulty-store.ts';

test('once rows are outdated, nothing is remembered of an owner who was looked up before', async () => {
  const { store } = await openMemoryStore();
  let reads = 0;
  const list: Store['list'] = (...first) => {
    reads++;
    return store.list(...first);
  };
  const tail = new Tail(EMPTY_HEAD);
  const known = new KnownPlants(new Follower(override(store, { list }), tail), 10);
  known.lookedUp(['alice']);
  tail.outdateRows();
  known.lookedUp(['alice']);
  await sleep(0);
  expect(reads).toBe(0);
  known.lookedUp(['alice']);
  await known.close();
  expect(reads).toBe(1);
});

test('one owner after the other is learned', async () => {
  const { store } = await openMemoryStore();
  const known = new KnownPlants(new Follower(store, new Tail(EMPTY_HEAD)), 10);
  for (const owner of ['alice', 'bob']) {
    for (let times = 0; times < 2; times++) known.lookedUp([owner]);
    await expect.poll(() => known.isThere(owner, 1n)).toBe(false);
  }
  await known.close();
});
