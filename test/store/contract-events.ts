import { describe, expect, test } from 'vitest';
import { MAX_INT64, MIN_INT64 } from '../../src/domain/plant.ts';
import { headAt } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { encoded } from '../support/encoded.ts';
import { added, append, chain, deleted, TRACEPARENT } from '../support/events.ts';
import { readLog, verifyLog } from '../support/fold.ts';
import { count } from '../support/soak.ts';
import { type OpenStore, withStore } from './open-store.ts';

const plants = (owner: string, from: number, length: number) =>
  Array.from({ length }, (_, index) => added(owner, BigInt(from + index)));

/** What the events of every store have to keep. */
export function eventsContract(open: OpenStore): void {
  const on = withStore(open);

  describe('events', () => {
    test(
      'a new log is empty',
      on(async ({ store }) => {
        expect(await store.head()).toEqual(EMPTY_HEAD);
        expect(await readLog(store)).toEqual([]);
        expect(await store.checkpoint()).toBe(0);
      }),
    );

    test(
      'a read begins right after any position, whatever the batches, and past the end there is nothing',
      on(async ({ store }) => {
        const events: LoggedEvent[] = [];
        while (events.length < 2_500) events.push(...(await append(store, ...plants('alice', events.length, 500))));
        for (const after of [0, 1, 499, 500, 501, 1_000, 1_499, 2_499, 2_500, 2_501]) {
          const positions: number[] = [];
          for await (const batch of store.read(after)) positions.push(...batch.map(({ position }) => position));
          expect(positions).toEqual(events.slice(after).map(({ position }) => position));
        }
      }),
    );

    test(
      'every value comes back exactly: int64, NUL, emoji, an empty text, an absent tag, time, id and hash',
      on(async ({ store }) => {
        const hash = crypto.getRandomValues(new Uint8Array(32));
        const ids = [MIN_INT64, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n + 1n, MAX_INT64];
        const texts = [
          '',
          '\u0000',
          'a\u0000b',
          '🌱\u{10ffff}',
          'é',
          'e\u0301',
          '"\\\'\n',
          '\ufeff\uffff',
          'x'.repeat(1024),
        ];
        const made = [
          ...ids.map((id) => added('alice', id)),
          ...ids.map((id) => deleted('alice', id)),
          ...texts.map((text) => added(`owner ${text}`, 1n, text, text)),
          ...texts.map((text) => deleted(`owner ${text}`, 1n)),
          ...['k', ' "\\~', 'x'.repeat(255)].flatMap((idempotencyKey) => [
            { ...added('alice', 1n), idempotencyKey },
            { ...deleted('alice', 1n), idempotencyKey },
          ]),
          { ...added('alice', 1n), traceparent: TRACEPARENT },
          { ...deleted('alice', 1n), traceparent: TRACEPARENT },
          added('a\u0000', 1n, 'no tag', undefined),
        ];
        const events = chain(EMPTY_HEAD, made).map((event, index): LoggedEvent => {
          if (index === made.length - 1) return encoded({ ...event, hash, time: 253_402_300_799_999 });
          // The first has to follow from the empty log.
          return index === 0 ? event : encoded({ ...event, time: index });
        });
        expect(await store.append(events)).toBe(events.length);
        expect(await readLog(store)).toEqual(events);
        expect(await store.head()).toEqual({ position: events.length, hash, time: 253_402_300_799_999 });
      }),
    );

    test(
      'an append onto positions that are taken appends nothing, be they taken by other events or by the very same',
      on(async ({ store }) => {
        const events = await append(store, ...plants('alice', 0, 3));
        expect(await store.append(events)).toBe(0);
        expect(await store.append(events.slice(1))).toBe(0);
        expect(await store.append(chain(EMPTY_HEAD, plants('bob', 0, 7)))).toBe(0);
        expect(await store.append(chain(headAt(events[1]!), plants('bob', 0, 7)))).toBe(0);
        expect(await readLog(store)).toEqual(events);
      }),
    );

    test(
      'a second handle shares the log: each sees at once what the other appended, and appends onto it',
      on(async ({ store, second }) => {
        const other = await second();
        const first = await append(store, added('alice', 1n));
        expect(await other.head()).toEqual(headAt(first[0]!));
        expect(await readLog(other)).toEqual(first);
        const next = await append(other, deleted('alice', 1n), added('alice', 2n));
        expect(await store.head()).toEqual(headAt(next[1]!));
        expect(await store.append(chain(headAt(first[0]!), plants('bob', 0, 1)))).toBe(0);
        expect(await readLog(store)).toEqual([...first, ...next]);
      }),
    );

    test(
      'when handles append to one position at once, one gets all of its events in and the others none',
      on(async ({ store, second }) => {
        const handles = [store, await second(), await second()];
        const log: LoggedEvent[] = [];
        for (let round = 0; round < count(20, 1000); round++) {
          const head = await handles[round % 3]!.head();
          const batches = handles.map((_, writer) =>
            chain(head, plants(`${writer}`, round * 10, 1 + ((round + 2 * writer) % 5))),
          );
          const appended = await Promise.all(handles.map((handle, writer) => handle.append(batches[writer]!)));
          const winners = batches.filter((batch, writer) => appended[writer] === batch.length);
          expect(winners).toHaveLength(1);
          expect(appended.filter((taken) => taken === 0)).toHaveLength(2);
          log.push(...winners[0]!);
        }
        expect(await readLog(store)).toEqual(log);
        verifyLog(log);
      }),
    );

    test(
      'a read while others append ends at a point of the log, with no position left out',
      on(async ({ store, second }) => {
        const other = await second();
        await append(store, ...plants('alice', 0, 1_200));
        const reads = async () => {
          for (let round = 0; round < 5; round++) {
            const head = await other.head();
            const events = await readLog(other);
            expect(events.length).toBeGreaterThanOrEqual(head.position);
            verifyLog(events);
          }
        };
        const appends = async () => {
          for (let from = 1_200; from < 2_000; from += 20) await append(store, ...plants('alice', from, 20));
        };
        await Promise.all([reads(), appends()]);
        expect((await other.head()).position).toBe(2_000);
      }),
    );
  });
}
