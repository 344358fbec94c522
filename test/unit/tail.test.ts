import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyOf, type PlantEvent } from '../../src/domain/events.ts';
import { idempotencyString } from '../../src/domain/idempotency.ts';
import { keyString } from '../../src/domain/plant.ts';
import { headAt, seal, subjectOf } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent, sizeOf } from '../../src/log/event/event.ts';
import { Tail } from '../../src/log/tail/tail.ts';
import { eventArbitrary } from '../support/arbitraries.ts';
import { growthOf } from '../support/cpu-growth.ts';
import { type LoggedPlantEvent, ofPlants } from '../support/events.ts';

/** Events of any kind, half of them of one owner with few idempotency keys, so that keys meet. */
const event = fc.oneof(
  eventArbitrary,
  fc
    .tuple(eventArbitrary, fc.constantFrom('k', 'l'))
    .map(([any, idempotencyKey]): PlantEvent => ({ ...any, owner: 'alice', idempotencyKey })),
);

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('extend' as const), event }) },
    fc.record({ do: fc.constant('project' as const), events: fc.nat(5) }),
    fc.record({ do: fc.constant('pin' as const) }),
    fc.record({ do: fc.constant('release' as const), index: fc.nat() }),
  ),
  { maxLength: 60 },
);

/** What a tail holds, told from the events alone. */
function naive(events: readonly LoggedPlantEvent[], base: number) {
  const states = new Map<string, string | undefined>();
  for (const { event } of events.slice(base)) {
    const { owner, id } = keyOf(event);
    states.set(keyString(owner, id), event.type === 'PlantAdded' ? event.name : undefined);
  }
  return states;
}

/** A read that pins the tail until it is ended. */
function pinned(tail: Tail) {
  const [{ base }, gate] = [tail, Promise.withResolvers<void>()];
  const read = tail.pinned(
    () => gate.promise,
    () => {},
  );
  const end = () => {
    gate.resolve();
    return read;
  };
  return { base, end };
}

const sameKey = (one: PlantEvent, other: PlantEvent): boolean =>
  other.idempotencyKey !== undefined && one.idempotencyKey === other.idempotencyKey && one.owner === other.owner;

test('a tail holds what is after the checkpoint and all that is pinned, and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (run) => {
      const tail = new Tail(EMPTY_HEAD);
      const events: LoggedPlantEvent[] = [];
      const pins: ReturnType<typeof pinned>[] = [];
      for (const step of run) {
        if (step.do === 'extend') {
          const last = events.at(-1);
          const sealed = seal(last === undefined ? EMPTY_HEAD : headAt(last), step.event, `${events.length}`, 0);
          events.push(...ofPlants([sealed]));
          tail.extend(events.slice(-2));
        } else if (step.do === 'project') tail.projected(Math.min(tail.checkpoint + step.events, events.length));
        else if (step.do === 'pin') pins.push(pinned(tail));
        else if (pins.length > 0) await pins.splice(step.index % pins.length, 1)[0]!.end();

        const base = Math.min(tail.checkpoint, ...pins.map((pin) => pin.base));
        expect(tail.size).toBe(events.length - base);
        expect(tail.at(base)).toBeUndefined();
        expect(tail.at(base + 1)).toBe(events[base]);
        const expected = naive(events, base);
        for (const { event } of events) {
          const key = keyString(event.owner, event.plantId);
          expect(tail.memtable.knows(keyOf(event))).toBe(expected.has(key));
          expect(tail.memtable.stateOf(keyOf(event))?.name).toBe(expected.get(key));
          const last = events.slice(base).findLast((other) => sameKey(other.event, event));
          expect(tail.memtable.findByIdempotencyKey(idempotencyString(event) ?? '')).toBe(last);
          const owned = tail.memtable.ownedBy(event.owner, undefined);
          expect(owned.map(({ id }) => id)).toEqual(
            [...new Set(owned.map(({ id }) => id))].sort((a, b) => (a < b ? -1 : 1)),
          );
          expect(owned.every(({ id }) => expected.has(keyString(event.owner, id)))).toBe(true);
          expect(tail.memtable.ownedBy(event.owner, event.plantId)).toEqual(
            owned.filter(({ id }) => id > event.plantId),
          );
        }
      }
      for (const pin of pins) await pin.end();
      tail.projected(events.length);
      expect([tail.size, tail.bytes]).toEqual([0, 0]);
    }),
  );
});

test('what a tail says that it takes is no less than what it takes, however long the names are that callers have', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const collected = async () => {
    // Bytes outside of the heap are freed some time after their objects.
    for (let round = 0; round < 3; round++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  // The bytes of events are outside of the heap.
  const used = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  const text = (mark: string, length: number) => Buffer.from(mark.padEnd(length, 'ж'), 'utf16le').toString('utf16le');
  const events = (length: number): LoggedPlantEvent[] => {
    let head: Head = EMPTY_HEAD;
    const sealed = Array.from({ length: length < 1_000 ? 4_000 : 500 }, (_, index) => {
      const event = seal(
        head,
        {
          type: 'PlantAdded',
          owner: text(`owner ${index}`, length),
          actor: text(`actor ${index}`, length),
          plantId: BigInt(index),
          name: text(`name ${index}`, 500),
          tag: undefined,
          idempotencyKey: text(`key ${index}`, 255),
        },
        `${index}`,
        0,
      );
      head = headAt(event);
      return event;
    });
    return ofPlants(sealed);
  };
  const compare = async (length: number) => {
    await collected();
    const before = used();
    const tail = new Tail(EMPTY_HEAD);
    tail.extend(events(length));
    // A key of an index is a copy of its own once it was looked up.
    for (const { event } of ofPlants(tail.after(0))) {
      expect(tail.memtable.stateOf(keyOf(event))).toBeDefined();
      expect(tail.memtable.findByIdempotencyKey(idempotencyString(event)!)).toBeDefined();
    }
    await collected();
    const taken = used() - before;
    expect(taken).toBeGreaterThan(tail.size * length);
    expect(tail.bytes).toBeGreaterThan(0.95 * taken);
    expect(tail.bytes).toBeLessThan(2 * taken);
    // Of what the read model has, nothing stays.
    tail.projected(Math.floor(0.45 * tail.size));
    await collected();
    expect(tail.bytes).toBeGreaterThan(0.95 * (used() - before));
  };
  for (const length of [10, 2_000, 8_000]) await compare(length);
});

test('a gap never gets into a tail', () => {
  const tail = new Tail(EMPTY_HEAD);
  const event = seal(
    { ...EMPTY_HEAD, position: 1 },
    { type: 'PlantDeleted', owner: 'a', actor: 'a', plantId: 1n },
    'x',
    0,
  );
  expect(() => tail.extend([event])).toThrow('position 2 does not follow 0');
});

test("dropping an owner's projected events takes no more than linear time", async () => {
  const size = 8_000;
  const ids = Array.from({ length: 2 * size }, (_, index) => BigInt((index * 7_919) % 16_001));
  let head: Head = EMPTY_HEAD;
  const sealed = ids.map((plantId) => {
    const event = seal(
      head,
      { type: 'PlantAdded', owner: 'a', actor: 'a', plantId, name: 'x', tag: undefined },
      'x',
      0,
    );
    head = headAt(event);
    return event;
  });
  const tailOf = (events: number): Tail => {
    const tail = new Tail(EMPTY_HEAD);
    tail.extend(sealed.slice(0, events));
    return tail;
  };
  let used = 0;
  const run = (events: number) => {
    // Systems count the CPU of a thread in ticks of 4 ms, and one tail takes 2.
    const tails = Array.from({ length: 16 }, () => tailOf(events));
    const before = process.threadCpuUsage();
    for (const tail of tails) tail.projected(events);
    const { user, system } = process.threadCpuUsage(before);
    used += user + system;
  };
  expect(await growthOf({ run, cpu: () => used }, size, 3)).toBeLessThan(3);
});

const OWNER_ERASED = { type: 'OwnerErased', actor: 'root', erased: 1 } as const;

test('events before the base are kept for so many bytes, the newest of them, and none from before an erasure', () => {
  let [kept, dropped] = [0, 0];
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          { weight: 8, arbitrary: event },
          { weight: 1, arbitrary: fc.constant(OWNER_ERASED) },
          { weight: 4, arbitrary: fc.nat(6) },
        ),
        { maxLength: 60 },
      ),
      fc.constantFrom(0, 1, 4_000, 20_000, 10_000_000),
      (run, recentBytes) => {
        const tail = new Tail(EMPTY_HEAD, recentBytes);
        const events: LoggedEvent[] = [];
        let [first, erased] = [1, 0];
        for (const step of run) {
          if (typeof step === 'number') tail.projected(Math.min(tail.checkpoint + step, events.length));
          else {
            const last = events.at(-1);
            events.push(seal(last === undefined ? EMPTY_HEAD : headAt(last), step, `${events.length}`, 0));
            if (step.type === 'OwnerErased') erased = events.length;
            tail.extend(events.slice(-1));
          }
          const bytesFrom = (position: number) =>
            events.slice(position - 1, tail.base).reduce((sum, each) => sum + sizeOf(each), 0);
          while (first <= tail.base && (bytesFrom(first) > recentBytes || first <= erased)) {
            first++;
            dropped++;
          }
          expect(tail.readableAfter).toBe(Math.max(first - 1, erased));
          kept += tail.base + 1 - first;
          expect(tail.after(first - 1)).toEqual(events.slice(first - 1));
          expect(tail.at(first)).toBe(events[first - 1]);
          expect(tail.at(first - 1)).toBeUndefined();
          expect(() => tail.after(first - 2)).toThrow('not in memory');
          // What is before the base decides nothing.
          expect(tail.size).toBe(events.length - tail.base);
        }
      },
    ),
  );
  expect(kept).toBeGreaterThan(0);
  expect(dropped).toBeGreaterThan(0);
});

// That its plants end too, the simulation shows.
test("an OwnerErased event ends the idempotency keys that its owner has in the tail, and no other's", () => {
  const tail = new Tail(EMPTY_HEAD);
  const keys = ['ann', 'bob'].map((owner) => ({ owner, idempotencyKey: 'k' }));
  for (const key of keys)
    tail.extend([seal(tail.head, { type: 'PlantDeleted', actor: 'a', plantId: 1n, ...key }, key.owner, 0)]);
  const erases = { owner: 'ann', key: new Uint8Array(16), isCleared: false, isPublished: false };
  tail.extend([{ ...seal(tail.head, { ...OWNER_ERASED, subject: subjectOf(erases) }, 'erased', 0), erases }]);
  const found = keys.map((key) => tail.memtable.findByIdempotencyKey(idempotencyString(key)!)?.eventId);
  expect(found).toEqual([undefined, 'bob']);
});

test('a restart makes every read and every entry void, and tells of what was passed over', async () => {
  const tail = new Tail(EMPTY_HEAD);
  const seen: number[] = [];
  let restarts = 0;
  tail.onSeen((events) => seen.push(...events.map(({ position }) => position)));
  tail.onRowsOutdated(() => restarts++);
  const ann = { type: 'PlantAdded', owner: 'ann', actor: 'ann', plantId: 1n, name: 'Fern', tag: undefined } as const;
  const first = seal(EMPTY_HEAD, ann, '1', 0);
  const second = seal(headAt(first), { ...ann, plantId: 2n }, '2', 0);
  tail.extend([first]);
  const gate = Promise.withResolvers<void>();
  const bases: number[] = [];
  const used = tail.pinned(
    async (base) => {
      bases.push(base);
      await gate.promise;
      return tail.base;
    },
    (read) => read,
  );
  tail.tellSeen([second]);
  tail.restart(headAt(second));
  expect([seen, restarts]).toEqual([[1, 2], 1]);
  gate.resolve();
  expect([await used, bases]).toEqual([2, [0, 2]]);
  expect([tail.base, tail.checkpoint, tail.head.position, tail.size]).toEqual([2, 2, 2, 0]);
  expect(tail.memtable.knows({ owner: 'ann', id: 1n })).toBe(false);
});

test('every listener hears of news, whatever another one throws', () => {
  const faults: unknown[] = [];
  const tail = new Tail(EMPTY_HEAD, 0, (fault) => faults.push(fault));
  let heard = 0;
  tail.onExtended(() => {
    throw new Error('a listener');
  });
  tail.onExtended(() => heard++);
  tail.extend([seal(EMPTY_HEAD, { type: 'PlantDeleted', owner: 'a', actor: 'a', plantId: 1n }, '1', 0)]);
  expect([heard, faults.map(String)]).toEqual([1, ['Error: a listener']]);
});
