import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { Channel, type LiveStep, type Step } from '../../src/plants/watch/channel.ts';
import { Watch, type WatchedLog } from '../../src/plants/watch/watch.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { added, chain } from '../support/events.ts';
import { ALICE } from '../support/principal.ts';

const VALID = { until: Number.POSITIVE_INFINITY, holds: true, confirm: async () => {} };
const VIEWER = { unsent: 0, news: () => {}, quiet: () => {}, ended: () => {} };

const LARGE = '\u0001'.repeat(1024);
/** More than one piece of a beginning has. */
const rows = Array.from({ length: 100 }, (_, index) => ({ id: BigInt(index), name: LARGE, tag: LARGE }));

const keeper = (log: object) => ({
  log: {
    head: async () => {},
    recent: () => undefined,
    revalidateRows: () => undefined,
    ...log,
  } as unknown as WatchedLog,
  delivered: () => {},
  waitForPiece: () => turn(),
  mayTell: () => true,
  left: () => {},
});

test.each<[string, string, string, (erase: () => void, replace: () => void) => void]>([
  ['an erasure', 'so that nothing erased is sent afterwards', 'OVERLOADED', (erase) => erase()],
  // The new log would not tell of anything: the watch would stay silent for ever.
  ['another log in its place', 'and no other begins', 'STORE_UNAVAILABLE', (_, replace) => replace()],
])('%s ends a beginning that is not read yet, %s', async (_, __, reason, happen) => {
  let erase = () => {};
  const replaced = new AbortController();
  const log = {
    list: async () => ({ plants: rows, position: rows.length }),
    status: { head: rows.length },
    revalidateRows: () => undefined,
    onExtended: (listener: (news: unknown[]) => void) => {
      erase = () => listener([{ position: rows.length + 1, erases: { owner: 'alice' } }]);
      return () => {};
    },
    onRowsOutdated: () => () => {},
    replaced: replaced.signal,
  } as unknown as WatchedLog;
  const watches = new Watches(log, { maxWatches: 1, maxOwnerWatches: 1 });
  const watch = watches.open({ ...ALICE, validity: VALID }, VIEWER);
  const pieces = (await watch.begin(undefined))[Symbol.asyncIterator]();
  await pieces.next();
  happen(erase, () => replaced.abort());
  await expect(pieces.next()).rejects.toMatchObject({ reason });
  if (replaced.signal.aborted)
    expect(() => watches.open({ ...ALICE, validity: VALID }, VIEWER)).toThrow('the log was replaced');
});

test.each([
  ['and is in it, is not told again', 6, []],
  ['and is not in it, is told', 5, [6]],
])('an event that comes while the state is being read, %s', async (_, position, told) => {
  const channel = new Channel('alice');
  const status = { head: 5 };
  const list = async () => {
    channel.tell({ position: 6, event: added('alice', 6n) });
    status.head = 6;
    return { plants: [], position };
  };
  const watch = new Watch(keeper({ list, status }), channel, VALID, VIEWER);
  const beginning: Step[] = [];
  for await (const piece of await watch.begin(undefined)) beginning.push(...piece);
  expect(beginning).toEqual([{ type: 'ready', position }]);
  expect(watch.take().map((step) => (step as LiveStep).position)).toEqual(told);
});

test('an event that comes right after what a reader missed was read is told', async () => {
  let extend = (_: unknown[]) => {};
  const status = { head: 5 };
  const log = {
    head: async () => {},
    status,
    revalidateRows: () => undefined,
    recent: () => {
      queueMicrotask(() => {
        status.head = 6;
        extend(chain({ ...EMPTY_HEAD, position: 5 }, [added('alice', 6n)]));
      });
      return [];
    },
    onExtended: (listener: (news: unknown[]) => void) => {
      extend = listener;
      return () => {};
    },
    onRowsOutdated: () => () => {},
    replaced: new AbortController().signal,
  } as unknown as WatchedLog;
  const watch = new Watches(log, { maxWatches: 1, maxOwnerWatches: 1 }).open({ ...ALICE, validity: VALID }, VIEWER);
  for await (const piece of await watch.begin(5)) expect(piece).toEqual([]);
  expect(watch.take()).toMatchObject([{ type: 'added', position: 6 }]);
});

test.each<[string, (watch: Watch, pieces: AsyncIterable<readonly Step[]>) => unknown]>([
  ['is refused before it is read', (watch) => watch.close()],
  [
    'is left after `reset`',
    async (watch, pieces) => {
      for await (const _ of pieces) break;
      watch.close();
    },
  ],
])('a watch of a long list that %s leaves no snapshot open', async (_, leave) => {
  let returned = 0;
  const plants = {
    next: async () => ({ done: false, value: rows }),
    return: async () => ({ done: true, value: returned++ }),
    [Symbol.asyncIterator]: () => plants,
  };
  const list = async () => ({ plants, next: undefined, position: 5, confirm: async () => {} });
  const watch = new Watch(keeper({ list, status: { head: 5 } }), new Channel('alice'), VALID, VIEWER);
  await leave(watch, await watch.begin(Number.NEGATIVE_INFINITY));
  expect(returned).toBeGreaterThan(0);
});

test('a watch whose reader leaves while its long list is opened closes the list', async () => {
  let returned = 0;
  const plants = { return: async () => ({ done: true, value: returned++ }) };
  const opening = Promise.withResolvers<object>();
  const log = { list: () => opening.promise, status: { head: 5 } };
  const watch = new Watch(keeper(log), new Channel('alice'), VALID, VIEWER);
  const begun = watch.begin(undefined);
  await turn();
  watch.close();
  opening.resolve({ plants, next: undefined, position: 5, confirm: async () => {} });
  await begun;
  expect(returned).toBe(1);
});

test('what a reader does not take counts as memory, and no more once it is taken', async () => {
  const channel = new Channel('alice');
  // Beside what the watch itself takes.
  const held: number[] = [];
  const reader = { ...VIEWER, setHeld: (bytes: number) => held.push(bytes - 8 * 1024) };
  const list = async () => ({ plants: [], position: 0 });
  const watch = new Watch(keeper({ list, status: { head: 0 } }), channel, VALID, reader);
  for await (const _ of await watch.begin(undefined));
  const name = 'x'.repeat(1_000);
  for (const position of [1, 2]) channel.tell({ position, event: added('alice', 7n, name) });
  watch.check(0);
  expect(held).toEqual([0, expect.closeTo(2_500, -3)]);
  watch.check(0);
  watch.take();
  watch.check(0);
  expect(held.slice(2)).toEqual([0]);
});
