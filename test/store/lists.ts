import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { PlantRow, Store } from '../../src/log/store.ts';
import type { Listing, ListQuery } from '../../src/log/view/listing.ts';
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

    test('no owner is answered with the list of another', async () => {
      await withLogs(async ([log]) => {
        await add(log, 'alice', 1);
        expect(await collect(await log.list(all('alice')))).toHaveLength(1);
        for (const owner of ['bob', '', 'alice ', 'alice\u0000', ',alice'])
          expect(await collect(await log.list(all(owner)))).toEqual([]);
      });
    });

    test('an event that the read model has taken over meanwhile is not lost', async () => {
      const opened = await open();
      const { promise: projected, resolve } = Promise.withResolvers<void>();
      const advance: Store['advance'] = async (...step) => {
        const advanced = await opened.store.advance(...step);
        if (step[1] === 2) resolve();
        return advanced;
      };
      const log = await openLog(override(opened.store, { advance }), quiet);
      await add(log, 'alice', 1);
      await log.list(all('alice'));
      await add(log, 'alice', 2);
      await projected;
      // The tail lets go of the event in the same turn.
      await turn();
      expect(await collect(await log.list(all('alice')))).toHaveLength(2);
      await log.close();
      await opened.cleanup();
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

    test('an event that comes while a list is being read is in it', async () => {
      const opened = await open();
      const read = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      const held = override(opened.store, {
        list: async (owner, after, limit) => {
          const rows = await opened.store.list(owner, after, limit);
          // The known keys of an owner are read in pages.
          if (limit !== Number.POSITIVE_INFINITY) return rows;
          read.resolve();
          await goOn.promise;
          return rows;
        },
      });
      const log = await openLog(held, quiet);
      await add(log, 'alice', 1);
      const first = log.list(all('alice'));
      await read.promise;
      await add(log, 'alice', 2);
      // Joins the read that began before the event.
      const second = log.list(all('alice'));
      await turn();
      goOn.resolve();
      const sizes = (await Promise.all([first, second])).map((list: Listing) => [...(list.plants as PlantRow[])]);
      expect(sizes.map(({ length }) => length)).toEqual([2, 2]);
      expect(await collect(await log.list(all('alice')))).toHaveLength(2);
      await log.close();
      await opened.cleanup();
    });
  });
}
