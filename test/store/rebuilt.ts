import { describe, expect, test } from 'vitest';
import { rebuildReadModel } from '../../src/audit/rebuild.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { OwnedRow, PlantRow, Store } from '../../src/log/store.ts';
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
