import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { Store } from '../../src/log/store.ts';
import { override } from '../support/faulty-store.ts';
import type { OpenStore } from './open-store.ts';

const about = { owner: 'alice', actor: 'alice' };
/** More than one read of rows gives. */
const PLANTS = 1_500;
const quiet = { onFault: () => {} };

const add = (log: EventLog, id: bigint) =>
  log.submit({ type: 'AddPlant', ...about, plant: { id, name: 'Fern', tag: undefined } });
const remove = (log: EventLog, id: bigint) => log.submit({ type: 'DeletePlant', ...about, id });

/**
 * A store whose read model stands still unless a test moves it. `lookUps` tells how often plants were looked up by key.
 */
function counted(store: Store): { store: Store; lookUps: () => number } {
  let calls = 0;
  const get: Store['get'] = (keys) => {
    calls++;
    return store.get(keys);
  };
  return { store: override(store, { get, lease: async () => false }), lookUps: () => calls };
}

/** What holds on any store of the plants that are known to be there, or not. */
export function knownPlantsContract(name: string, open: OpenStore): void {
  describe(`known plants on ${name}`, () => {
    test('a busy owner adds and deletes plants without a read, and is refused every plant that is there, on whichever instance it was added', async () => {
      const opened = await open();
      const { store, lookUps } = counted(opened.store);
      const [log, other] = [await openLog(store, quiet), await openLog(await opened.second(), quiet)];
      try {
        await Promise.all(Array.from({ length: PLANTS }, (_, id) => add(other, BigInt(id))));
        while ((await opened.store.checkpoint()) < PLANTS) await sleep(5);
        let next = BigInt(PLANTS);
        for (let before = -1; before < lookUps(); await add(log, next++)) before = lookUps();
        const before = lookUps();
        for (const last = next + 20n; next < last; next++) await add(log, next);
        for (let id = 0n; id < 20n; id++) await remove(log, id);
        await expect(remove(log, 3n)).rejects.toThrow('no plant');
        expect(lookUps()).toBe(before);
        await add(other, next);
        for (const id of [20n, 1_400n, next - 1n, next]) await expect(add(log, id)).rejects.toThrow('exists');
      } finally {
        await Promise.all([log.close(), other.close()]);
        await opened.cleanup();
      }
    });
  });
}
