import { describe, expect, test } from 'vitest';
import { MAX_INT64, MIN_INT64 } from '../../src/domain/plant.ts';
import type { PlantRow, Snapshot, Store } from '../../src/log/store.ts';
import { added, append, deleted, project } from '../support/events.ts';
import { readModel } from '../support/fold.ts';
import { type OpenStore, withStore } from './open-store.ts';

/** More than any store hands out in one batch. */
const MANY = 3_000;

const ids = (length: number) => Array.from({ length }, (_, id) => BigInt(id));

/** Gives owners the plants 0, 1, 2, ... */
async function fill(store: Store, length: number, ...owners: string[]): Promise<void> {
  for (const owner of owners) await append(store, ...ids(length).map((id) => added(owner, id, `${owner} ${id}`)));
  await project(store);
}

async function idsOf(rows: AsyncIterable<PlantRow[]>): Promise<bigint[]> {
  const all: bigint[] = [];
  for await (const batch of rows) all.push(...batch.map(({ id }) => id));
  return all;
}

const listed = (snapshot: Snapshot, owner: string, after?: bigint) => idsOf(snapshot.list(owner, after));

/** What the snapshots of every store have to keep. */
export function snapshotContract(open: OpenStore): void {
  const on = withStore(open);

  describe('snapshot', () => {
    test(
      'shows the rows of one position, whatever is done to the read model while it is read',
      on(async ({ store, second }) => {
        const other = await second();
        await fill(store, MANY, 'alice');
        const snapshot = await other.snapshot();
        expect(snapshot.position).toBe(MANY);
        const batches = snapshot.list('alice', undefined)[Symbol.asyncIterator]();
        const first: PlantRow[] = (await batches.next()).value;
        expect(first.length).toBeLessThan(MANY);
        await append(store, ...ids(MANY).map((id) => deleted('alice', id)));
        await append(store, added('alice', 0n, 'new'), added('bob', 1n));
        await project(store);
        const rest = await idsOf({ [Symbol.asyncIterator]: () => batches });
        expect([...first.map(({ id }) => id), ...rest]).toEqual(ids(MANY));
        expect(await listed(snapshot, 'alice')).toEqual(ids(MANY));
        expect(await listed(snapshot, 'bob')).toEqual([]);
        await snapshot.close();
        expect(await readModel(other, 'alice')).toEqual({
          rows: [{ id: 0n, name: 'new', tag: undefined }],
          position: 2 * MANY + 2,
        });
      }),
    );

    test(
      'goes on after any id, and reads lists side by side',
      on(async ({ store }) => {
        await fill(store, MANY, 'alice', 'alice\u0000');
        await append(store, added('alice', MIN_INT64), added('alice', MAX_INT64));
        await project(store);
        const snapshot = await store.snapshot();
        const all = [MIN_INT64, ...ids(MANY), MAX_INT64];
        const afters = [undefined, MIN_INT64, -1n, 499n, 500n, BigInt(MANY), MAX_INT64];
        const lists = await Promise.all(afters.map((after) => listed(snapshot, 'alice', after)));
        expect(lists).toEqual(afters.map((after) => all.filter((id) => after === undefined || id > after)));
        const [one, two] = await Promise.all([listed(snapshot, 'alice', -1n), listed(snapshot, 'alice\u0000')]);
        expect(one).toEqual([...ids(MANY), MAX_INT64]);
        expect(two).toEqual(ids(MANY));
        await snapshot.close();
      }),
    );

    test(
      'once closed it rejects what is still read from it; closing it again is fine, and others stay open',
      on(async ({ store }) => {
        await fill(store, MANY, 'alice');
        const [closed, open] = [await store.snapshot(), await store.snapshot()];
        const batches = closed.list('alice', undefined)[Symbol.asyncIterator]();
        await batches.next();
        await closed.close();
        await expect(idsOf({ [Symbol.asyncIterator]: () => batches })).rejects.toThrow();
        await expect(listed(closed, 'alice')).rejects.toThrow();
        await closed.close();
        expect(await listed(open, 'alice')).toEqual(ids(MANY));
        await open.close();
      }),
    );

    test(
      'closed while a batch is read, it rejects that read and leaves the store as it was',
      on(async ({ store }) => {
        await fill(store, MANY, 'alice');
        const snapshot = await store.snapshot();
        const reading = listed(snapshot, 'alice').then(
          () => 'read to the end',
          () => 'rejected',
        );
        await snapshot.close();
        expect(await reading).toBe('rejected');
        expect((await readModel(store, 'alice')).rows).toHaveLength(MANY);
      }),
    );
  });
}
