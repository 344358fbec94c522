import { expect, onTestFinished, test } from 'vitest';
import { openLog } from '../../src/log/log.ts';
import type { AppendOutcome } from '../../src/log/observer.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';

const addOf = (id: bigint) =>
  ({ type: 'AddPlant', owner: 'alice', actor: 'alice', plant: { id, name: 'Fern', tag: undefined } }) as const;

test('a command that lost its position is decided at the end of the log as it is after the pause, whatever others append meanwhile', async () => {
  const { store, second } = await openMemoryStore();
  const others = await second();
  const outcomes: AppendOutcome[] = [];
  let id = 0n;
  const appended = (_events: number, _seconds: number, outcome: AppendOutcome) => {
    outcomes.push(outcome);
    // Within the pause.
    if (outcome === 'conflict') setTimeout(() => void append(others, added('bob', id++)), 1);
  };
  const { promise: looked, resolve: onReachable } = Promise.withResolvers<unknown>();
  const log = await openLog(store, { onFault: () => {}, onReachable, observer: { appended, refused: () => {} } });
  onTestFinished(() => log.close());
  // The next look of an idle log is 100 ms away, and would show it the other's event.
  await looked;
  await append(others, added('bob', id++));
  expect(await log.submit(addOf(1n))).toMatchObject({ position: 3 });
  expect(outcomes).toEqual(['conflict', 'landed']);
});

test('a command is refused as not applied when its time is over before anything was sent, and appended no later', async () => {
  const { store } = await openMemoryStore();
  let isAway = false;
  const away = override(store, {
    head: async () => {
      if (isAway) throw new Error('away');
      return store.head();
    },
    // So long that what is known of the end of the log is too old to append behind it.
    get: async (keys) => {
      isAway = true;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return store.get(keys);
    },
  });
  const log = await openLog(away, { onFault: () => {}, limits: { commitLimit: 300 } });
  onTestFinished(() => log.close());
  const add = log.submit(addOf(1n));
  await expect(add).rejects.toMatchObject({
    reason: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('not applied'),
  });
  isAway = false;
  expect(await log.head()).toMatchObject({ position: 0 });
});
