import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { MAX_INT64, MIN_INT64, type PlantKey } from '../../src/domain/plant.ts';
import type { Changes, PlantRow } from '../../src/log/store.ts';
import { NO_NODES } from '../support/events.ts';
import { readModel } from '../support/fold.ts';
import { type OpenStore, withStore } from './open-store.ts';

type Row = PlantRow & PlantKey;

const row = (owner: string, id: bigint, name = 'Fern', tag?: string): Row => ({ owner, id, name, tag });
const plant = ({ id, name, tag }: Row): PlantRow => ({ id, name, tag });
const changes = (inserts: Row[], deletes: PlantKey[] = []): Changes => ({ inserts, deletes });

/** Owners that a careless key or collation would take for one another. */
const OWNERS = [
  'a',
  'A',
  'a\u0000',
  'a\u0000b',
  'ab',
  'a:1',
  '1:a',
  'é',
  'e\u0301',
  '🌱',
  '\uffff',
  '$a',
  'a.b',
  "a'--",
];

/** The largest text, and more bytes of texts than one read of any store has. */
const LARGE = '🌱'.repeat(1024);
const MOST_BYTES = 2 * 1024 * 1024;

const bytesOf = (rows: readonly PlantRow[]) =>
  rows.reduce((bytes, { name, tag }) => bytes + Buffer.byteLength(name) + Buffer.byteLength(tag ?? ''), 0);

async function first<Row>(batches: AsyncIterable<Row[]>): Promise<Row[]> {
  for await (const batch of batches) return batch;
  return [];
}

const IDS = [MIN_INT64, -(2n ** 53n) - 1n, -2n, -1n, 0n, 1n, 10n, 2n ** 53n + 1n, MAX_INT64];

/** What the read model of every store has to keep. */
export function readModelContract(open: OpenStore): void {
  const on = withStore(open);

  describe('read model', () => {
    test(
      'lists an owner in ascending signed id, from any cursor, cut at any limit',
      on(async ({ store }) => {
        const rows = IDS.map((id) => row('alice', id, `plant ${id}`));
        await store.advance(0, 1, changes([...rows.toReversed(), row('bob', 5n)]), NO_NODES);
        for (const after of [undefined, ...IDS, 5n])
          for (const limit of [1, 2, IDS.length, 1_000]) {
            const left = rows.filter(({ id }) => after === undefined || id > after).slice(0, limit);
            expect(await store.list('alice', after, limit)).toEqual({
              rows: left.map(plant),
              checkpoint: 1,
              upTo: 1,
              whole: left.length < limit,
              generation: 0,
            });
          }
      }),
    );

    test(
      'rows that are too many at once come in parts, and the last part says that it is the last',
      on(async ({ store }) => {
        const rows = Array.from({ length: 1_100 }, (_, id) => row('alice', BigInt(id), LARGE, LARGE));
        await store.advance(0, 1, changes(rows), NO_NODES);
        const read: PlantRow[] = [];
        for (let isOver = false, parts = 0; !isOver; parts++) {
          const part = await store.list('alice', read.at(-1)?.id, Number.POSITIVE_INFINITY);
          expect(part.whole).toBe(read.length + part.rows.length === rows.length && parts > 0);
          expect(part.rows.length).toBeGreaterThan(0);
          expect(bytesOf(part.rows)).toBeLessThan(MOST_BYTES);
          read.push(...part.rows);
          isOver = part.whole;
        }
        expect(read).toEqual(rows.map(plant));
        const snapshot = await store.snapshot();
        for (const batches of [snapshot.list('alice', undefined), snapshot.all()]) {
          const batch = await first<PlantRow>(batches);
          expect(batch.length).toBeGreaterThan(0);
          expect(bytesOf(batch)).toBeLessThan(MOST_BYTES);
        }
        await snapshot.close();
      }),
    );

    test(
      'a part ends where its bytes end, however small the rows before were, and a part with room for more is the last',
      on(async ({ store }) => {
        const rows = Array.from({ length: 600 }, (_, id) =>
          row('alice', BigInt(id), id < 300 ? 'Fern' : LARGE, id < 300 ? undefined : LARGE),
        );
        await store.advance(0, 1, changes(rows.slice(0, 320)), NO_NODES);
        await store.advance(1, 2, changes(rows.slice(320)), NO_NODES);
        for (const after of [-1n, 250n, 299n, 580n]) {
          const part = await store.list('alice', after, 1_001);
          const left = rows.slice(Number(after) + 1);
          expect(part.rows).toEqual(left.slice(0, part.rows.length).map(plant));
          expect(part.whole).toBe(after === 580n);
          expect(bytesOf(part.rows)).toBeLessThan(MOST_BYTES);
        }
      }),
    );

    test(
      'keeps owners apart, however alike their names',
      on(async ({ store }) => {
        await store.advance(0, 1, changes(OWNERS.map((owner) => row(owner, 7n, `of ${owner}`))), NO_NODES);
        for (const owner of OWNERS)
          expect((await store.list(owner, undefined, 9)).rows).toEqual([plant(row(owner, 7n, `of ${owner}`))]);
        await store.advance(1, 2, changes([], [{ owner: 'a\u0000', id: 7n }]), NO_NODES);
        const { rows } = await store.get(OWNERS.map((owner) => ({ owner, id: 7n })));
        expect(rows.map((found) => found?.name)).toEqual(
          OWNERS.map((owner) => (owner === 'a\u0000' ? undefined : `of ${owner}`)),
        );
      }),
    );

    test(
      'gets keys in the order asked, missing ones and repeated ones too',
      on(async ({ store }) => {
        await store.advance(
          0,
          3,
          changes([row('alice', 1n, 'one', 'indoor'), row('alice', 2n, ''), row('bob', 1n, 'b', '')]),
          NO_NODES,
        );
        const keys = [
          { owner: 'bob', id: 1n },
          { owner: 'alice', id: 2n },
          { owner: 'bob', id: 2n },
          { owner: 'alice', id: 1n },
          { owner: 'nobody', id: 1n },
          { owner: 'bob', id: 1n },
        ];
        const bobs = { name: 'b', tag: '' };
        const expected = [
          bobs,
          { name: '', tag: undefined },
          undefined,
          { name: 'one', tag: 'indoor' },
          undefined,
          bobs,
        ];
        expect(await store.get(keys)).toEqual({ rows: expected, checkpoint: 3, upTo: 3, generation: 0 });
        expect(await store.get([])).toEqual({ rows: [], checkpoint: 3, upTo: 3, generation: 0 });
        const many = Array.from({ length: 600 }, (_, index) => keys[index % keys.length]!);
        expect((await store.get(many)).rows).toEqual(many.map((_, index) => expected[index % keys.length]));
      }),
    );

    test(
      'of handles that take the same step at once, one is told that it did it',
      on(async ({ store, second }) => {
        const handles = [store, await second(), await second()];
        for (let round = 0; round < 20; round++) {
          const step = changes([row('alice', BigInt(round), 'step')]);
          const moved = await Promise.all(handles.map((handle) => handle.advance(round, round + 1, step, NO_NODES)));
          expect(moved.toSorted()).toEqual([false, false, true]);
        }
        expect((await store.list('alice', undefined, 99)).rows).toHaveLength(20);
      }),
    );

    test(
      'no row that is read is older than the checkpoint that comes with it, or newer than its upTo',
      on(async ({ store, second }) => {
        const keys = Array.from({ length: 30 }, (_, id) => ({ owner: 'alice', id: BigInt(id) }));
        const rowsAt = (position: number) => keys.map(({ id }) => row('alice', id, `${position}`));
        await store.advance(0, 1, changes(rowsAt(1)), NO_NODES);
        const other = await second();
        let done = false;
        const advances = async () => {
          for (let at = 1; at < 40; at++)
            expect(await store.advance(at, at + 1, changes(rowsAt(at + 1), keys), NO_NODES)).toBe(true);
          done = true;
        };
        const reads = async () => {
          while (!done)
            for (const { rows, checkpoint, upTo } of [
              await other.list('alice', undefined, 99),
              await other.get(keys),
            ]) {
              const versions = rows.map((read) => Number(read!.name));
              expect(Math.min(...versions)).toBeGreaterThanOrEqual(checkpoint);
              expect(Math.max(...versions)).toBeLessThanOrEqual(upTo);
              await sleep(0);
            }
        };
        await Promise.all([advances(), reads()]);
        expect(await other.list('alice', undefined, 99)).toEqual({
          rows: rowsAt(40).map(plant),
          checkpoint: 40,
          upTo: 40,
          whole: true,
          generation: 0,
        });
      }),
    );

    test(
      'a lease is one holder’s until it ends, and the holder may renew it',
      on(async ({ store, second }) => {
        const other = await second();
        expect(await store.lease('projector', 'one', 60_000)).toBe(true);
        expect(await other.lease('projector', 'two', 60_000)).toBe(false);
        expect(await other.lease('publisher', 'two', 60_000)).toBe(true);
        expect(await store.lease('projector', 'one', 1)).toBe(true);
        while (!(await other.lease('projector', 'two', 60_000))) await sleep(5);
        expect(await store.lease('projector', 'one', 60_000)).toBe(false);
        expect(await other.lease('projector', 'two', 60_000)).toBe(true);
      }),
      // Less than the lease that was renewed for a millisecond would have lasted.
      50_000,
    );

    test(
      'a lease that seems to last longer than any is taken for is over, and only one other takes it',
      on(async ({ store, second }) => {
        const other = await second();
        expect(await store.lease('projector', 'gone', 3_600_000)).toBe(true);
        const taken = await Promise.all(['two', 'three'].map((holder) => other.lease('projector', holder, 60_000)));
        expect(taken.toSorted()).toEqual([false, true]);
        expect(await store.lease('projector', 'gone', 60_000)).toBe(false);
      }),
    );

    test(
      'a lease that was taken once is known for ever, and no other',
      on(async ({ store, second }) => {
        expect(await store.wasLeased('publisher')).toBe(false);
        await store.lease('publisher', 'one', 60_000);
        await store.lease('publisher', 'one', 0);
        const other = await second();
        expect(await other.wasLeased('publisher')).toBe(true);
        expect(await other.wasLeased('projector')).toBe(false);
      }),
    );

    test(
      'giving a lease back that another holds takes nothing from the other',
      on(async ({ store, second }) => {
        const other = await second();
        expect(await store.lease('projector', 'one', 60_000)).toBe(true);
        expect(await other.lease('projector', 'two', 0)).toBe(false);
        expect(await other.lease('projector', 'two', 1_000)).toBe(false);
      }),
    );

    test(
      'rows, checkpoint and leases are there after a restart',
      on(async ({ store, reopen }) => {
        await store.advance(0, 5, changes([row('a\u0000', MIN_INT64, 'x', '')]), NO_NODES);
        await store.lease('projector', 'one', 60_000);
        await store.close();
        const reopened = await reopen();
        expect(await readModel(reopened, 'a\u0000')).toEqual({
          rows: [{ id: MIN_INT64, name: 'x', tag: '' }],
          position: 5,
        });
        expect(await reopened.checkpoint()).toBe(5);
        expect(await reopened.lease('projector', 'two', 60_000)).toBe(false);
      }),
    );
  });
}
