import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_INT64, MIN_INT64 } from '../../src/domain/plant.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { PlantRow, Store } from '../../src/log/store.ts';
import type { Listing, ListQuery } from '../../src/log/view/listing.ts';
import { commandArbitrary } from '../support/arbitraries.ts';
import { override } from '../support/faulty-store.ts';
import { collect } from '../support/fold.ts';
import { count } from '../support/soak.ts';
import type { OpenStore } from './open-store.ts';

const owners = ['alice', 'bob', 'a', 'a\u0000'];
const quiet = { onFault: () => {} };

const all = (owner: string): ListQuery => ({ owner, after: undefined, limit: undefined });

const add = (log: EventLog, owner: string, id: number) =>
  log.submit({ type: 'AddPlant', owner, actor: owner, plant: { id: BigInt(id), name: `${id}`, tag: undefined } });

const queries: fc.Arbitrary<ListQuery> = fc.record({
  owner: fc.constantFrom(...owners),
  after: fc.constantFrom(undefined, MIN_INT64, -1n, 7n, MAX_INT64),
  limit: fc.constantFrom(undefined, 0, 1, 2, 3, 100),
});

/** The plants of owners, told in the plainest way. */
class Model {
  readonly #plants = new Map(owners.map((owner) => [owner, new Map<bigint, PlantRow>()]));

  of(owner: string): Map<bigint, PlantRow> {
    return this.#plants.get(owner)!;
  }

  list({ owner, after, limit }: ListQuery): { plants: PlantRow[]; next: bigint | undefined } {
    const rest = [...this.of(owner).values()]
      .filter(({ id }) => after === undefined || id > after)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const plants = rest.slice(0, limit);
    return { plants, next: limit !== 0 && plants.length < rest.length ? plants.at(-1)!.id : undefined };
  }
}

/** What lists have to keep, whether they are remembered or not. */
export function listsContract(name: string, open: OpenStore): void {
  describe(`lists on ${name}`, () => {
    test('after any commands of any owners on any instance, every list on every instance is that of the model, remembered or not', async () => {
      const operations = fc.array(
        fc.oneof(
          fc.record({ command: commandArbitrary, instance: fc.nat(2) }),
          fc.record({ queries: fc.array(queries, { minLength: 1, maxLength: 6 }) }),
        ),
        { minLength: 5, maxLength: 40 },
      );
      await fc.assert(
        fc.asyncProperty(operations, async (run) => {
          const opened = await open();
          const logs = [
            await openLog(opened.store, quiet),
            await openLog(await opened.second(), { ...quiet, listCacheBytes: 100_000 }),
            await openLog(await opened.second(), { ...quiet, listCacheBytes: 0 }),
          ];
          const model = new Model();
          try {
            for (const operation of run) {
              if ('command' in operation) {
                const { command, instance } = operation;
                const { id, ...plant } = command.type === 'AddPlant' ? command.plant : { id: command.id };
                const accepted = await logs[instance]!.submit(command).then(
                  () => true,
                  () => false,
                );
                const plants = model.of(command.owner);
                expect(accepted).toBe(plants.has(id) === (command.type === 'DeletePlant'));
                if (!accepted) continue;
                if (command.type === 'DeletePlant') plants.delete(id);
                else plants.set(id, { id, ...plant } as PlantRow);
              } else
                for (const query of operation.queries)
                  for (const log of logs) {
                    const list = await log.list(query);
                    expect({ plants: await collect(list), next: list.next }).toEqual(model.list(query));
                  }
            }
          } finally {
            for (const log of logs) await log.close();
            await opened.cleanup();
          }
        }),
        { numRuns: count(4, 500) },
      );
    });

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
