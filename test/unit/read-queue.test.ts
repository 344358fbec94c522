import { expect, test } from 'vitest';
import { ReadQueue } from '../../src/log/sqlite/read-queue.ts';

// How many reads a turn of the event loop has, test/full/store/sqlite-bounded-reads.test.ts shows.
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
