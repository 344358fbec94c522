import { describe, expect, test } from 'vitest';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { ListQuery } from '../../src/log/view/listing.ts';
import { override } from '../support/faulty-store.ts';
import { collect } from '../support/fold.ts';
import type { OpenStore } from './open-store.ts';

const quiet = { onFault: () => {} };

const all = (owner: string): ListQuery => ({ owner, after: undefined, limit: undefined });

const add = (log: EventLog, owner: string, id: number) =>
  log.submit({ type: 'AddPlant', owner, actor: owner, plant: { id: BigInt(id), name: `${id}`, tag: undefined } });

/** What lists have to keep, whether they are remembered or not. */
export function listsContract(name: string, open: OpenStore): void {
  describe(`lists on ${name}`, () => {
    const withLogs = async (run: (logs: readonly [EventLog, EventLog], reads: () => number) => Promise<void>) => {
      const opened = await open();
      let reads = 0;
      const counted = override(opened.store, {
        list: (...query) => {
          reads++;
          return opened.store.list(...query);
        },
      });
      const logs = [await openLog(counted, quiet), await openLog(await opened.second(), quiet)] as const;
      try {
        await run(logs, () => reads);
      } finally {
        for (const log of logs) await log.close();
        await opened.cleanup();
      }
    };

    test('a list is the same object until an event of its owner, whoever appends it, and is not read again for those of others', async () => {
      await withLogs(async ([log, other], reads) => {
        await add(log, 'alice', 1);
        const list = await log.list(all('alice'));
        const before = reads();
        await add(log, 'bob', 1);
        await add(other, 'bob', 2);
        expect(await log.list(all('alice'))).toBe(list);
        expect(reads()).toBe(before);
        await add(other, 'alice', 2);
        expect(await collect(await log.list(all('alice')))).toHaveLength(2);
        expect(await collect(list)).toHaveLength(1);
      });
    });

    test('those who ask for the same list at once share one read of it, and get the same object', async () => {
      await withLogs(async ([log], reads) => {
        await add(log, 'alice', 1);
        const lists = await Promise.all(Array.from({ length: 50 }, () => log.list(all('alice'))));
        expect(new Set(lists).size).toBe(1);
        expect(reads()).toBe(1);
        expect(log.listCache).toMatchObject({ entries: 1 });
      });
    });
  });
}
