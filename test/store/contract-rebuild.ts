import { describe, expect, test } from 'vitest';
import type { OwnedRow, Rebuild, Store } from '../../src/log/store.ts';
import { changesOf } from '../../src/log/view/projector.ts';
import { added, append, deleted, project } from '../support/events.ts';
import { readLog, readModel } from '../support/fold.ts';
import { type OpenStore, withStore } from './open-store.ts';

/** Applies the events after a position to a rebuild. Returns the end of the log. */
async function build(store: Store, rebuild: Rebuild, after = 0): Promise<number> {
  const events = (await readLog(store)).slice(after);
  for (let from = 0; from < events.length; from += store.advanceLimit)
    await rebuild.apply(changesOf(events.slice(from, from + store.advanceLimit)));
  return after + events.length;
}

const FERN = { name: 'Fern', tag: undefined };

/** What the rebuild of every store's read model has to keep. */
export function rebuildContract(open: OpenStore): void {
  const on = withStore(open);

  describe('rebuild', () => {
    test(
      'what is built beside the live read model takes its place in one step, with its checkpoint',
      on(async ({ store, second }) => {
        const other = await second();
        await append(store, added('alice', 1n), added('alice', 2n), added('bob', 1n), deleted('alice', 2n));
        await project(store, 2);
        const before = await other.snapshot();
        const rebuild = await store.rebuild();
        const end = await build(store, rebuild);
        const built: OwnedRow[] = [];
        for await (const rows of rebuild.all()) built.push(...rows);
        expect(built).toEqual([
          { owner: 'alice', id: 1n, ...FERN },
          { owner: 'bob', id: 1n, ...FERN },
        ]);
        expect((await readModel(other, 'alice')).rows).toHaveLength(2);
        expect(await rebuild.swap(end)).toBe(true);
        await rebuild.close();
        expect(await readModel(other, 'alice')).toEqual({ rows: [{ id: 1n, ...FERN }], position: 4 });
        expect(await other.list('bob', undefined, 9)).toEqual({
          rows: [{ id: 1n, ...FERN }],
          checkpoint: 4,
          whole: true,
          generation: 1,
        });
        expect(await store.get([{ owner: 'alice', id: 1n }])).toEqual({ rows: [FERN], checkpoint: 4, generation: 1 });
        expect(before.position).toBe(2);
        await before.close();
      }),
    );

    test(
      'it goes on being a read model: the projector’s next steps, and another rebuild, stand on it',
      on(async ({ store, second }) => {
        const other = await second();
        await append(store, added('alice', 1n), added('alice', 2n));
        await project(other);
        for (let round = 0; round < 3; round++) {
          const rebuild = await store.rebuild();
          expect(await rebuild.swap(await build(store, rebuild))).toBe(true);
          await rebuild.close();
          await append(store, deleted('alice', 1n), added('alice', 1n, `round ${round}`));
          await project(other);
          expect((await readModel(store, 'alice')).rows[0]?.name).toBe(`round ${round}`);
        }
      }),
    );

    test(
      'a live read model that is further keeps its place; the rebuild catches up and takes it then',
      on(async ({ store }) => {
        await append(store, added('alice', 1n));
        const rebuild = await store.rebuild();
        const end = await build(store, rebuild);
        await append(store, deleted('alice', 1n));
        await project(store);
        expect(await rebuild.swap(end)).toBe(false);
        expect(await readModel(store, 'alice')).toEqual({ rows: [], position: 2 });
        expect(await rebuild.swap(await build(store, rebuild, end))).toBe(true);
        expect(await readModel(store, 'alice')).toEqual({ rows: [], position: 2 });
        await rebuild.close();
      }),
    );

    test(
      'one that is given up, or left behind, changes nothing; the next one begins empty',
      on(async ({ store, second }) => {
        await append(store, added('alice', 1n), added('bob', 1n));
        await project(store);
        const left = await (await second()).rebuild();
        await build(store, left);
        const given = await store.rebuild();
        await build(store, given);
        await given.close();
        expect((await readModel(store, 'alice')).rows).toHaveLength(1);
        const next = await store.rebuild();
        await expect(left.apply({ deletes: [{ owner: 'alice', id: 1n }], inserts: [] })).rejects.toThrow();
        await build(store, next);
        expect(await next.swap(2)).toBe(true);
        await next.close();
        expect((await readModel(store, 'alice')).rows).toHaveLength(1);
        await left.close();
      }),
    );

    test(
      'changes that do not fit the rows are rejected, with none of them made',
      on(async ({ store }) => {
        await append(store, added('alice', 1n), added('alice', 2n));
        const rebuild = await store.rebuild();
        await build(store, rebuild);
        const row = { owner: 'alice', id: 3n, ...FERN };
        await expect(rebuild.apply({ deletes: [{ owner: 'alice', id: 1n }], inserts: [row, row] })).rejects.toThrow();
        await expect(rebuild.apply({ deletes: [{ owner: 'bob', id: 1n }], inserts: [] })).rejects.toThrow();
        expect(await rebuild.swap(2)).toBe(true);
        await rebuild.close();
        expect((await readModel(store, 'alice')).rows.map(({ id }) => id)).toEqual([1n, 2n]);
      }),
    );
  });
}
