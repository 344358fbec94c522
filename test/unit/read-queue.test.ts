import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ReadQueue } from '../../src/log/sqlite/read-queue.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));

afterEach(() => void vi.useRealTimers());

/** Turns of the event loop so far, counted until `stop`. */
function countTurns(): { now: number; stop: () => void } {
  const turns = { now: 0, stop: () => clearImmediate(next) };
  let next: NodeJS.Immediate;
  const count = () => {
    turns.now++;
    next = setImmediate(count);
  };
  next = setImmediate(count);
  return turns;
}

test('a turn of the event loop has reads until its share of time is up, what follows from them included', async () => {
  const queue = new ReadQueue();
  const turns = countTurns();
  const turnsOfReads: number[] = [];
  let held = 0;
  const read = async (milliseconds: number) => {
    await queue.do('alice', () => {
      turnsOfReads.push(turns.now);
      held++;
    });
    expect(held).toBe(1);
    for (let wait = 0; wait < 10; wait++) await undefined;
    vi.advanceTimersByTime(milliseconds);
    held--;
  };
  await Promise.all(Array.from({ length: 20 }, () => read(1)));
  expect(turnsOfReads).toEqual(Array.from({ length: 20 }, (_, index) => turnsOfReads[0]! + Math.floor(index / 2)));
  turnsOfReads.length = 0;
  await Promise.all(Array.from({ length: 4 }, () => read(100)));
  expect(new Set(turnsOfReads).size).toBe(4);
  turns.stop();
});

test('a read begins at once when nothing waits, and a read that fails holds up no other', async () => {
  const queue = new ReadQueue();
  let begun = false;
  const first = queue.do('alice', () => {
    begun = true;
    throw new Error('unreadable');
  });
  expect(begun).toBe(true);
  const second = queue.do('alice', () => 2);
  await expect(first).rejects.toThrow('unreadable');
  expect(await second).toBe(2);
});

test('owners take turns, each with its reads in the order of the calls', async () => {
  const queue = new ReadQueue();
  const order: string[] = [];
  const read = (owner: string | undefined, name: string) => queue.do(owner, () => order.push(name));
  await Promise.all([
    ...['a1', 'a2', 'a3', 'a4'].map((name) => read('alice', name)),
    ...['b1', 'b2'].map((name) => read('bob', name)),
    read(undefined, 'log'),
  ]);
  expect(order).toEqual(['a1', 'a2', 'b1', 'log', 'a3', 'b2', 'a4']);
});
