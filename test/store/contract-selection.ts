import { describe, expect, test } from 'vitest';
import { MAX_INT64, MIN_INT64 } from '../../src/domain/plant.ts';
import { seal, subjectOf } from '../../src/log/event/chain.ts';
import type { OwnedRow, Selection } from '../../src/log/store.ts';
import { added, append, deleted, type LoggedPlantEvent, project } from '../support/events.ts';
import { type OpenStore, withStore } from './open-store.ts';

/** More than any store hands out in one batch, or searches at once. */
const MANY = 5_000;

async function collect<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const batch of batches) items.push(...batch);
  return items;
}

/** What every store has to keep when only some events are read, and when all rows are. */
export function selectionContract(open: OpenStore): void {
  const on = withStore(open);

  describe('selection', () => {
    test(
      'of all events after a position exactly those are read that are asked for, in order',
      on(async ({ store }) => {
        const events: LoggedPlantEvent[] = [];
        while (events.length < MANY) {
          const from = BigInt(events.length);
          const made = Array.from({ length: 500 }, (_, index) => added('alice', from + BigInt(index)));
          events.push(...(await append(store, ...made, added('bob', from), deleted('bob', from))));
        }
        const selections: Selection[] = [
          {},
          { to: 0 },
          { to: 1 },
          { to: 2_345 },
          { to: events.length },
          { to: events.length + 1 },
          { owner: 'bob' },
          { owner: 'nobody' },
          { owner: '' },
          { id: 502n },
          { owner: 'bob', id: 502n },
          { owner: 'alice', to: 3_000 },
          { owner: 'bob', id: 502n, to: 1_003 },
          { owner: undefined, id: undefined, to: undefined },
        ];
        for (const after of [0, 501, 2_500, events.length])
          for (const { to = Infinity, owner, id } of selections) {
            const wanted = events.filter(
              ({ position, event }) =>
                position > after &&
                position <= to &&
                (owner === undefined || event.owner === owner) &&
                (id === undefined || event.plantId === id),
            );
            const only = { owner, id, ...(to !== Infinity && { to }) };
            expect(await collect(store.read(after, only))).toEqual(wanted);
          }
      }),
    );

    test(
      'a read ends when its signal aborts, also while it finds nothing',
      on(async ({ store }) => {
        await append(store, ...Array.from({ length: 1_200 }, (_, id) => added('alice', BigInt(id))));
        const left = new AbortController();
        const read = store.read(0, { signal: left.signal })[Symbol.asyncIterator]();
        expect((await read.next()).done).toBe(false);
        left.abort(new Error('left'));
        await expect(read.next()).rejects.toThrow('left');
        await expect(collect(store.read(0, { owner: 'nobody', signal: left.signal }))).rejects.toThrow('left');
      }),
    );

    test(
      'with an owner, OwnerErased events of all owners are read too if they are asked for, complete or not',
      on(async ({ store }) => {
        const erased = async (owner: string) => {
          const head = await store.head();
          const key = new Uint8Array(16);
          const subject = subjectOf({ owner, key });
          const event = seal(head, { type: 'OwnerErased', actor: 'operator', erased: 1, subject }, owner, 0);
          await store.append([{ ...event, erases: { owner, key, isCleared: false, isPublished: false } }]);
        };
        await append(store, added('alice', 1n), added('bob', 1n), added('carol', 1n));
        await erased('bob');
        await append(store, added('alice', 2n), added('carol', 2n));
        await erased('carol');
        for await (const _ of store.eraseContents('bob', 4));
        const [unfinished] = await store.unfinished();
        await store.endErasures([4, 7], true);
        await store.erasurePublished(4, true);
        await store.erasurePublished(4, false);
        await store.endErasures([4, 7], true);
        expect((await store.unfinished())[0]).toEqual(unfinished);
        await store.erasurePublished(4, true);
        await store.endErasures([4, 7], true);
        expect((await store.unfinished()).map(({ position }) => position)).toEqual([7]);
        const read = async (after: number, only: Selection) =>
          (await collect(store.read(after, only))).map(({ position }) => position);
        expect(await read(0, { owner: 'alice', erasures: true })).toEqual([1, 4, 5, 7]);
        expect(await read(1, { owner: 'carol', erasures: true, to: 6 })).toEqual([3, 4, 6]);
        expect(await read(0, { owner: 'nobody', erasures: true })).toEqual([4, 7]);
        expect(await read(0, { owner: 'alice' })).toEqual([1, 5]);
      }),
    );

    test(
      'a snapshot shows the rows of all owners, in the order of their names in UTF-8 and of ids',
      on(async ({ store }) => {
        // In UTF-16, which JavaScript compares by, the last two are the other way round.
        const owners = ['', '\u0000', 'a', 'a\u0000', 'aa', 'é', '\uffff', '🌱'];
        const ids = [MIN_INT64, -1n, 0n, MAX_INT64, ...Array.from({ length: 800 }, (_, index) => BigInt(index + 1))];
        const keys = owners.flatMap((owner) => ids.map((id) => ({ owner, id })));
        for (const owner of owners.toReversed())
          await append(store, ...ids.toReversed().map((id) => added(owner, id, `${id}`, id < 0n ? '' : undefined)));
        await project(store);
        const snapshot = await store.snapshot();
        await append(store, deleted('a', 0n));
        await project(store);
        const expected = keys
          .map(({ owner, id }): OwnedRow => ({ owner, id, name: `${id}`, tag: id < 0n ? '' : undefined }))
          .sort((a, b) => Buffer.compare(Buffer.from(a.owner), Buffer.from(b.owner)) || (a.id < b.id ? -1 : 1));
        expect(await collect(snapshot.all())).toEqual(expected);
        await snapshot.close();
        await expect(collect(snapshot.all())).rejects.toThrow();
      }),
    );
  });
}
