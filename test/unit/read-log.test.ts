import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { Follower } from '../../src/log/tail/follower.ts';
import { readLog } from '../../src/log/tail/read.ts';
import { Tail } from '../../src/log/tail/tail.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';

/** Events that another instance appends, and how many of all the tail then drops; in some steps the reader goes on. */
const steps = fc.array(fc.record({ events: fc.nat(5), projected: fc.nat(5), reads: fc.boolean() }), { maxLength: 12 });

test('who follows the log gets every event once and in order, wherever the tail begins meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(0, 2_000), async (run, recentBytes) => {
      const { store } = await openMemoryStore();
      const tail = new Tail(EMPTY_HEAD, recentBytes);
      const follower = new Follower(store, tail);
      const following = readLog(follower, 0, { follow: true });
      const read: number[] = [];
      let end = 0;
      let next: Promise<IteratorResult<readonly LoggedEvent[]>> = following.next();
      const goOn = async () => {
        const { value } = await next;
        read.push(...(value as readonly LoggedEvent[]).map(({ position }) => position));
        next = following.next();
      };
      for (const { events, projected, reads } of run) {
        await append(store, ...Array.from({ length: events }, () => added('alice', BigInt(++end))));
        await follower.sync();
        tail.projected(await project(store, projected));
        if (reads && read.length < end) await goOn();
      }
      const rest = async () => {
        while (read.length < end) await goOn();
      };
      const patience = async () => {
        for (let turns = 0; turns < 200; turns++) await turn();
      };
      await Promise.race([rest(), patience()]);
      expect(read).toEqual(Array.from({ length: end }, (_, index) => index + 1));
    }),
    { numRuns: 100 },
  );
});

test('who reads the log once an erasure is complete gets nothing of the owner, whatever is still in memory', async () => {
  const { store, second } = await openMemoryStore();
  const log = await openLog(store, { onFault: () => {} });
  const other = await openLog(override(await second(), { lease: async () => false }), { onFault: () => {} });
  await log.submit({ type: 'AddPlant', owner: 'gone', actor: 'gone', plant: { id: 1n, name: 'Fern', tag: undefined } });
  await other.head();
  for await (const _ of log.erase({ owner: 'gone', actor: 'operator' }));
  await log.submit({ type: 'AddPlant', owner: 'b', actor: 'b', plant: { id: 1n, name: 'Fern', tag: undefined } });
  const read: LoggedEvent[] = [];
  for await (const events of other.read(0)) read.push(...events);
  expect(read.map(({ content, erases }) => [content !== undefined, erases])).toEqual([
    [false, undefined],
    [true, undefined],
    [true, undefined],
  ]);
  for (const each of [log, other]) await each.close();
});

const OWNER = { owner: 'gone', actor: 'gone' };
const add = (log: EventLog, id: bigint) =>
  log.submit({ type: 'AddPlant', ...OWNER, plant: { id, name: 'Fern', tag: undefined } });
const contents = ({ value }: IteratorResult<readonly LoggedEvent[]>) =>
  (value as LoggedEvent[]).map(({ type, content }) => [type, content !== undefined]);

test('who follows the log at an instance that was cut off meanwhile gets nothing of an owner once an erasure is complete', async () => {
  const { store, second } = await openMemoryStore();
  const log = await openLog(store, { onFault: () => {} });
  const reached = await second();
  let reachable = Promise.resolve();
  const cutOff = override(reached, { lease: async () => false, head: () => reachable.then(() => reached.head()) });
  const other = await openLog(cutOff, { onFault: () => {} });
  const following = other.read(0, { follow: true });
  const first = following.next();
  await add(log, 1n);
  expect(contents(await first)).toEqual([['PlantAdded', true]]);
  await add(log, 2n);
  await other.head();
  const gate = Promise.withResolvers<void>();
  reachable = gate.promise;
  for await (const _ of log.erase({ owner: 'gone', actor: 'operator' }));
  const next = following.next();
  gate.resolve();
  expect(contents(await next)).toEqual([
    ['PlantAdded', false],
    ['OwnerErased', true],
  ]);
  await following.return(undefined);
  for (const each of [log, other]) await each.close();
});

test('who began to read the log during an erasure gets nothing of the owner once it is complete', async () => {
  const { store, second } = await openMemoryStore();
  const [removal, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = override(store, {
    async *eraseContents(...erasure) {
      await removal.promise;
      yield* store.eraseContents(...erasure);
    },
  });
  const log = await openLog(slow, { onFault: () => {} });
  const reached = await second();
  let isFrozen = false;
  const late = override(reached, {
    lease: async () => false,
    async *read(...selection) {
      for await (const events of reached.read(...selection)) {
        if (isFrozen) await answer.promise;
        yield events;
      }
    },
  });
  const other = await openLog(late, { onFault: () => {} });
  await add(log, 1n);
  const erasing = (async () => {
    for await (const _ of log.erase({ owner: 'gone', actor: 'operator' }));
  })();
  while ((await other.head()).position < 2) await turn();
  isFrozen = true;
  const reading = other.read(0);
  const first = reading.next();
  for (let turns = 0; turns < 20; turns++) await turn();
  removal.resolve();
  await erasing;
  answer.resolve();
  expect(contents(await first)).toEqual([
    ['PlantAdded', false],
    ['OwnerErased', true],
  ]);
  await reading.return(undefined);
  for (const each of [log, other]) await each.close();
});

test('who watches a log hears once that the store is out of reach, and once that it is back', async () => {
  const { store } = await openMemoryStore();
  const [away, stop] = [new Error('away'), new AbortController()];
  // The look at the generation of rows asks for the head too, so that a poll may do so twice.
  const looks = [true, true, true, true, false, false, false, true, true, true, true, false, false];
  const head = async () => {
    const isThere = looks.shift();
    if (isThere === undefined) stop.abort();
    if (isThere === false) throw away;
    return store.head();
  };
  const told: unknown[] = [];
  await new Follower(override(store, { head }), new Tail(EMPTY_HEAD)).watch(stop.signal, (fault) => told.push(fault));
  expect(told).toEqual([undefined, away, undefined, away, undefined]);
});

test('a log that has nothing to do closes without waiting for a timer', async () => {
  const { store } = await openMemoryStore();
  await append(store, added('alice', 1n));
  await project(store);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const log = await openLog(store, { onFault: () => {} });
  for (let turns = 0; turns < 100; turns++) await turn();
  await log.close();
});
