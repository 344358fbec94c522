import { describe, expect, test } from 'vitest';
import { headAt, seal, subjectOf } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import type { Changes, Nodes, OwnedRow, Store } from '../../src/log/store.ts';
import { sha256 } from '../../src/tlog/hash.ts';
import { NO_NODES } from '../support/events.ts';
import { type OpenStore, withStore } from './open-store.ts';

const ID = '00000000-0000-4000-8000-000000000000';
const NO_CHANGES: Changes = { deletes: [], inserts: [] };

const plant = (id: bigint, name = 'Fern'): OwnedRow => ({ owner: 'alice', id, name, tag: undefined });
const key = (id: bigint) => ({ owner: 'alice', id });
const hash = (node: number): Uint8Array => sha256(Buffer.from(`${node}`));
const nodes = (first: number, count: number): Nodes => ({
  first,
  hashes: Array.from({ length: count }, (_, at) => hash(first + at)),
});

/** Everything that a step changes. */
async function stateOf(store: Store) {
  const { rows, checkpoint, generation } = await store.list('alice', undefined, 99);
  const plants = rows.map(({ id, name }) => `${id} ${name}`);
  return { plants, checkpoint, generation, nodes: (await store.nodes(0, 99)).map((node) => Buffer.from(node)) };
}

const roots = (...indexes: number[]): Buffer[] => indexes.map((node) => Buffer.from(hash(node)));

/** What the steps of every store have to keep: those of a projector, with nodes, and those of a repair. */
export function repairContract(open: OpenStore): void {
  const on = withStore(open);

  describe('nodes and repairs', () => {
    test(
      'a step writes its nodes with its rows and the checkpoint, which another handle sees',
      on(async ({ store, second }) => {
        const other = await second();
        expect(await store.nodes(0, 9)).toEqual([]);
        await store.advance(0, 700, { deletes: [], inserts: [plant(1n)] }, nodes(0, 2));
        await store.advance(700, 1_000, NO_CHANGES, nodes(2, 1));
        await store.advance(1_000, 1_001, NO_CHANGES, NO_NODES);
        const after = { plants: ['1 Fern'], checkpoint: 1_001, generation: 0, nodes: roots(0, 1, 2) };
        expect(await stateOf(store)).toEqual(after);
        expect(await store.nodeCount()).toBe(3);
        expect(await other.checkpoint()).toBe(1_001);
        expect(await stateOf(other)).toEqual(after);
      }),
    );

    test(
      'a repair leaves what says that rows are being removed, for an erasure right behind the checkpoint alone',
      on(async ({ store }) => {
        const about = { owner: 'alice', actor: 'alice', plantId: 1n };
        const added = seal(EMPTY_HEAD, { type: 'PlantAdded', ...about, name: 'Fern', tag: undefined }, ID, 0);
        const erases = { owner: 'alice', key: new Uint8Array(16), isCleared: false, isPublished: false };
        const erased = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
        await store.append([added, { ...seal(headAt(added), erased, ID, 0), erases }]);
        const repaired = async (at: number) => {
          expect(await store.advance(at, at, NO_CHANGES, NO_NODES)).toBe(true);
          return (await store.list('alice', undefined, 9)).upTo;
        };
        const isBack = (at: number) => store.advance(at, at, { deletes: [], inserts: [plant(1n)] }, NO_NODES);
        const step = (at: number) => store.advance(at, at + 1, { ...NO_CHANGES, erased: 'alice' }, NO_NODES);
        expect([await isBack(0), await step(0)]).toEqual([true, undefined]);
        expect(await repaired(0)).toBe(0);
        await store.advance(0, 1, { deletes: [], inserts: [plant(1n)] }, NO_NODES);
        expect(await step(1)).toBeUndefined();
        expect(await repaired(1)).toBe(2);
      }),
    );

    test(
      'nodes are read from where one asks, up to where one asks, and up to the first that is missing',
      on(async ({ store }) => {
        await store.advance(0, 256 * 300, NO_CHANGES, nodes(0, 300));
        await store.advance(256 * 300, 256 * 311, NO_CHANGES, nodes(301, 10));
        const read = async (start: number, end: number) =>
          (await store.nodes(start, end)).map((node) => Buffer.from(node));
        expect(await read(0, 3)).toEqual(roots(0, 1, 2));
        expect(await read(298, 400)).toEqual(roots(298, 299));
        expect(await read(300, 400)).toEqual([]);
        expect(await read(301, 303)).toEqual(roots(301, 302));
        expect(await read(5, 5)).toEqual([]);
        expect(await read(310, 400)).toEqual(roots(310));
      }),
    );

    test(
      'a step that is refused, or does not fit the rows, writes no node',
      on(async ({ store }) => {
        await store.advance(0, 300, { deletes: [], inserts: [plant(1n)] }, nodes(0, 1));
        const before = await stateOf(store);
        for (const [from, to] of [
          [0, 600],
          [299, 600],
          [299, 299],
          [undefined, 600],
          [undefined, 300],
          [undefined, undefined],
        ])
          expect(await store.advance(from, to, { deletes: [], inserts: [plant(2n)] }, nodes(0, 2))).toBe(false);
        for (const to of [300, 600])
          await expect(
            store.advance(300, to, { deletes: [key(9n)], inserts: [plant(2n), plant(1n)] }, nodes(0, 2)),
          ).rejects.toMatchObject({ name: 'BrokenReadModelError' });
        expect(await stateOf(store)).toEqual(before);
      }),
    );

    test(
      'a step deletes what is there, and needs nothing to be there',
      on(async ({ store }) => {
        await store.advance(0, 300, { deletes: [], inserts: [plant(1n), plant(2n)] }, nodes(0, 1));
        const changes = { deletes: [key(9n), key(1n), key(2n)], inserts: [plant(2n, 'Palm')] };
        expect(await store.advance(300, 301, changes, NO_NODES)).toBe(true);
        expect((await stateOf(store)).plants).toEqual(['2 Palm']);
      }),
    );

    test(
      'a repair changes rows and nodes where they stand, takes away nodes beyond the checkpoint, and tells by the generation',
      on(async ({ store, second }) => {
        const other = await second();
        await store.advance(0, 600, { deletes: [], inserts: [plant(1n), plant(2n), plant(3n)] }, nodes(0, 2));
        await store.advance(600, 601, NO_CHANGES, nodes(2, 3));
        expect((await stateOf(store)).nodes).toEqual(roots(0, 1, 2, 3, 4));
        expect(await store.advance(601, 601, NO_CHANGES, { first: 1, hashes: [hash(77)] })).toBe(true);
        expect(await stateOf(store)).toEqual({
          plants: ['1 Fern', '2 Fern', '3 Fern'],
          checkpoint: 601,
          generation: 1,
          nodes: roots(0, 77),
        });
        const changes = { deletes: [key(1n), key(2n)], inserts: [plant(2n, 'Palm'), plant(4n)] };
        expect(await store.advance(601, 601, changes, NO_NODES)).toBe(true);
        expect(await other.generation()).toBe(2);
        expect(await stateOf(other)).toEqual({
          plants: ['2 Palm', '3 Fern', '4 Fern'],
          checkpoint: 601,
          generation: 2,
          nodes: roots(0, 77),
        });
        // The projector goes on from there, and the generation is that of the last repair.
        expect(await other.advance(601, 602, { deletes: [key(4n)], inserts: [] }, NO_NODES)).toBe(true);
        expect(await stateOf(store)).toMatchObject({ plants: ['2 Palm', '3 Fern'], checkpoint: 602, generation: 2 });
      }),
    );

    test(
      'a step of a repair that comes after the projector has moved does nothing',
      on(async ({ store, second }) => {
        const other = await second();
        await store.advance(0, 300, { deletes: [], inserts: [plant(1n)] }, nodes(0, 1));
        await other.advance(300, 601, { deletes: [key(1n)], inserts: [plant(2n)] }, nodes(1, 1));
        const before = await stateOf(other);
        expect(await store.advance(300, 300, { deletes: [], inserts: [plant(1n)] }, nodes(0, 1))).toBe(false);
        expect(await store.advance(300, 300, NO_CHANGES, NO_NODES)).toBe(false);
        expect(await stateOf(other)).toEqual(before);
      }),
    );

    test(
      'the step of an erasure waits until rows are removed that a repair has put back, however many they are',
      on(async ({ store, second }) => {
        const other = await second();
        await store.advance(0, 300, { deletes: [], inserts: [plant(1n)] }, nodes(0, 1));
        const step = () => store.advance(300, 301, { ...NO_CHANGES, erased: 'alice' }, NO_NODES);
        for (let round = 0; round < 2; round++) {
          expect(await step()).toBeUndefined();
          expect(await stateOf(other)).toMatchObject({ plants: [], checkpoint: 300 });
          expect(await other.advance(300, 300, { deletes: [], inserts: [plant(1n)] }, NO_NODES)).toBe(true);
        }
        expect([await step(), await step()]).toEqual([undefined, true]);
        expect(await stateOf(other)).toMatchObject({ plants: [], checkpoint: 301 });
      }),
    );

    test(
      'of a repair that puts rows back and the step of an erasure at once, one is done',
      on(async ({ store, second }) => {
        const other = await second();
        for (let at = 0; at < 10; at++) {
          const step = () => store.advance(at, at + 1, { ...NO_CHANGES, erased: 'alice' }, NO_NODES);
          const [isBack, isMoved] = await Promise.all([
            other.advance(at, at, { deletes: [], inserts: [plant(1n)] }, NO_NODES),
            step(),
          ]);
          expect(isMoved).toBe(isBack ? undefined : true);
          if (isBack) expect(await step()).toBe(true);
          expect(await stateOf(other)).toMatchObject({ plants: [], checkpoint: at + 1 });
        }
      }),
    );

    test(
      'of a repair and a projector that step at once, each does its step whole or not at all',
      on(async ({ store, second }) => {
        const other = await second();
        await store.advance(0, 256, { deletes: [], inserts: [plant(0n)] }, nodes(0, 1));
        for (let round = 0; round < 10; round++) {
          const [at, id] = [256 * (round + 1), BigInt(round)];
          const [repaired, moved] = await Promise.all([
            store.advance(at, at, { deletes: [key(id)], inserts: [plant(id, 'repaired')] }, nodes(round, 1)),
            other.advance(at, at + 256, { deletes: [key(id)], inserts: [plant(id + 1n)] }, nodes(round + 1, 1)),
          ]);
          expect(moved).toBe(true);
          const { plants, checkpoint, nodes: found } = await stateOf(store);
          expect(plants).toEqual([`${id + 1n} Fern`]);
          expect(checkpoint).toBe(at + 256);
          expect(found).toHaveLength(round + 2);
          expect(typeof repaired).toBe('boolean');
        }
      }),
    );
  });
}
