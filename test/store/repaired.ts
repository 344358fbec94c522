import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { rebuildReadModel } from '../../src/audit/rebuild/rebuild.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { OwnedRow, PlantRow, Store } from '../../src/log/store.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { fill } from '../support/fill.ts';
import { type OpenDatabase, verdictOf } from './audit-tampering.ts';

/** More than a list in memory holds, and a whole number of reads of rows: the last read finds nothing. */
const LONG = 6_000;

const quiet = { onFault: () => {} };

async function rebuild(store: Store): Promise<void> {
  for await (const _ of rebuildReadModel(store));
}

const listOf = (log: EventLog, limit?: number) => log.list({ owner: 'alice', after: undefined, limit });

async function idsOf(log: EventLog): Promise<bigint[]> {
  const { plants } = await listOf(log);
  return (plants as readonly PlantRow[]).map(({ id }) => id);
}

const about = { owner: 'alice', actor: 'alice' };
const add = (log: EventLog, id: bigint) =>
  log.submit({ type: 'AddPlant', ...about, plant: { id, name: 'Fern', tag: undefined } });
const remove = (log: EventLog, id: bigint) => log.submit({ type: 'DeletePlant', ...about, id });

/** What is read of a list until it ends or fails. */
async function readOn(batches: AsyncIterable<readonly PlantRow[]>): Promise<{ ids: bigint[]; error: unknown }> {
  const ids: bigint[] = [];
  try {
    for await (const batch of batches) ids.push(...batch.map(({ id }) => id));
    return { ids, error: undefined };
  } catch (error) {
    return { ids, error };
  }
}

/** A store whose snapshots let something happen after the first rows that they give. */
function interrupted(store: Store, meanwhile: () => Promise<void>): Store {
  async function* after<Row extends PlantRow | OwnedRow>(batches: AsyncIterable<Row[]>): AsyncGenerator<Row[]> {
    let first = true;
    for await (const batch of batches) {
      yield batch;
      if (first) await meanwhile();
      first = false;
    }
  }
  return override(store, {
    snapshot: async () => {
      const snapshot = await store.snapshot();
      return {
        position: snapshot.position,
        list: (owner, start) => after(snapshot.list(owner, start)),
        all: () => after(snapshot.all()),
        close: () => snapshot.close(),
      };
    },
  });
}

/** What a rebuild means for what is being read, and for what is remembered, on any store. */
export function rebuiltContract(name: string, open: OpenDatabase): void {
  describe(`a rebuild beside a running instance, on ${name}`, () => {
    test.each([undefined, LONG - 1])(
      'a long list that is being read (limit %s) goes on exactly or ends with an error, never early',
      async (limit) => {
        const opened = await open();
        await fill(opened.store, LONG, 'alice');
        const log = await openLog(await opened.second(), quiet);
        try {
          const { plants } = await listOf(log, limit);
          const batches = plants as AsyncIterableIterator<readonly PlantRow[]>;
          const first = (await batches.next()).value as readonly PlantRow[];
          expect(first.length).toBeGreaterThan(0);
          expect(first.length).toBeLessThan(LONG / 2);
          await rebuild(opened.store);
          const { ids, error } = await readOn(batches);
          if (error === undefined) expect(first.length + ids.length).toBe(limit ?? LONG);
          else expect(error).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
          const again = (await listOf(log)).plants as AsyncIterableIterator<readonly PlantRow[]>;
          expect((await readOn(again)).ids).toHaveLength(LONG);
        } finally {
          await log.close();
          await opened.cleanup();
        }
      },
    );

    test('a long list whose limit is being counted off is cut where it is cut without a rebuild, or refused', async () => {
      const opened = await open();
      await fill(opened.store, LONG, 'alice');
      const store = interrupted(await opened.second(), () => rebuild(opened.store));
      const log = await openLog(store, quiet);
      try {
        const list = await listOf(log, LONG - 1).catch((error: unknown) => error);
        if (list instanceof Error) expect(list).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
        else expect(list).toMatchObject({ next: BigInt(LONG - 2) });
      } finally {
        await log.close();
        await opened.cleanup();
      }
    });

    test('a lost checkpoint is made anew, and what an instance remembers of the rows before ends', async () => {
      const opened = await open();
      await append(opened.store, ...[1n, 2n, 3n].map((id) => added('alice', id)));
      await project(opened.store);
      const log = await openLog(await opened.second(), quiet);
      const database = await opened.database();
      try {
        await database.removePlant('alice', 3n);
        expect(await idsOf(log)).toEqual([1n, 2n]);
        await database.removeCheckpoint();
        await expect(opened.store.checkpoint()).rejects.toThrow('run plantstore audit rebuild');
        const given = await opened.store.rebuild();
        // Its rows are of nothing yet.
        for (const read of [opened.store.checkpoint(), opened.store.snapshot(), opened.store.list('alice', 0n, 9)])
          await expect(read).rejects.toThrow('lost the checkpoint');
        await given.close();
        await rebuild(opened.store);
        expect(await idsOf(log)).toEqual([1n, 2n, 3n]);
        const generation = await opened.store.generation();
        await database.removeCheckpoint();
        await rebuild(opened.store);
        expect(await opened.store.generation()).toBeGreaterThan(generation);
        await add(log, 4n);
        await expect.poll(() => opened.store.checkpoint()).toBe(4);
        expect((await verdictOf(opened.store)).verdict.ok).toBe(true);
      } finally {
        await database.close();
        await log.close();
        await opened.cleanup();
      }
    });

    test('what an instance remembers of a damaged read model ends with a rebuild that mends it, on every instance', async () => {
      const opened = await open();
      await append(opened.store, ...[1n, 2n, 3n].map((id) => added('alice', id)));
      await project(opened.store);
      const database = await opened.database();
      await database.removePlant('alice', 3n);
      await database.close();
      const logs = await Promise.all([0, 1].map(async () => openLog(await opened.second(), quiet)));
      try {
        let next = 10n;
        for (const log of logs) {
          // Learned, as busy owners are, so that commands are decided without a read.
          for (let adds = 0; adds < 10; adds++) {
            await add(log, next++);
            await sleep(5);
          }
          await expect(remove(log, 3n)).rejects.toThrow('no plant');
          expect(await idsOf(log)).not.toContain(3n);
        }
        await rebuild(opened.store);
        for (const log of logs) {
          await expect(add(log, 3n)).rejects.toThrow('exists');
          expect(await idsOf(log)).toContain(3n);
        }
        await remove(logs[0]!, 3n);
        const { position } = await logs[1]!.head();
        await expect.poll(() => opened.store.checkpoint()).toBe(position);
        expect((await verdictOf(opened.store)).verdict.ok).toBe(true);
      } finally {
        await Promise.all(logs.map((log) => log.close()));
        await opened.cleanup();
      }
    });

    test('what was read before a rebuild, and is put together after it, is not remembered', async () => {
      const opened = await open();
      await append(opened.store, added('alice', 1n), added('alice', 2n), added('bob', 1n));
      await project(opened.store);
      const database = await opened.database();
      await database.removePlant('alice', 2n);
      await database.close();
      const second = await opened.second();
      const gate = Promise.withResolvers<void>();
      const reading = Promise.withResolvers<void>();
      let reads = 0;
      const store = override(second, {
        list: async (owner, after, limit) => {
          const rows = await second.list(owner, after, limit);
          if (owner === 'alice' && reads++ === 0) {
            reading.resolve();
            await gate.promise;
          }
          return rows;
        },
      });
      const log = await openLog(store, quiet);
      try {
        const early = listOf(log);
        await reading.promise;
        await rebuild(opened.store);
        // It hears of the rebuild by a list of somebody else, and asks for the same list again while the first is being read.
        await log.list({ owner: 'bob', after: undefined, limit: undefined });
        expect(await idsOf(log)).toEqual([1n, 2n]);
        gate.resolve();
        expect((await early).plants).toHaveLength(1);
        expect(await idsOf(log)).toEqual([1n, 2n]);
      } finally {
        gate.resolve();
        await log.close();
        await opened.cleanup();
      }
    });

    test('a verification says yes to a read model that is rebuilt while it is compared', async () => {
      const opened = await open();
      await fill(opened.store, LONG, 'alice');
      let rebuilds = 0;
      const store = interrupted(await opened.second(), async () => {
        if (rebuilds++ === 0) await rebuild(opened.store);
      });
      try {
        const { verdict, places } = await verdictOf(store);
        expect({ ok: verdict.ok, places }).toEqual({ ok: true, places: {} });
        expect(rebuilds).toBeGreaterThan(0);
      } finally {
        await opened.cleanup();
      }
    });
  });
}
