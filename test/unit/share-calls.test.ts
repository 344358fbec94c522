import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { shareCalls } from '../../src/time/share-calls.ts';

const wholeTurn = async () => {
  for (let turns = 0; turns < 4; turns++) await turn();
};

/** A call whose runs are ended by hand. */
function handRun() {
  const runs: PromiseWithResolvers<number>[] = [];
  const call = shareCalls(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  return { call, runs };
}

test('who asks in one turn shares a call; who asks while it runs gets the next one, which starts after they asked', async () => {
  const { call, runs } = handRun();
  const first = call();
  expect(call()).toBe(first);
  expect(runs).toHaveLength(0);
  await wholeTurn();
  expect(runs).toHaveLength(1);
  const second = call();
  const third = call();
  expect(runs).toHaveLength(1);
  runs[0]!.resolve(1);
  expect(await first).toBe(1);
  // Who was answered and asks again at once shares the call of those who waited.
  expect(runs).toHaveLength(1);
  const again = call();
  expect(again).toBe(second);
  await wholeTurn();
  expect(runs).toHaveLength(2);
  const fourth = call();
  runs[1]!.resolve(2);
  expect(await Promise.all([second, third, again])).toEqual([2, 2, 2]);
  await wholeTurn();
  runs[2]!.resolve(3);
  expect(await fourth).toBe(3);
});

test('a call that fails fails its callers alone', async () => {
  const { call, runs } = handRun();
  const first = call();
  await wholeTurn();
  const second = call();
  runs[0]!.reject(new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  await wholeTurn();
  runs[1]!.resolve(2);
  expect(await second).toBe(2);
});

test('a request that the next turn reads shares the call, also after another has ended', async () => {
  const { call, runs } = handRun();
  const first = call();
  expect((await askedBehind(call))[0]).toBe(first);
  await wholeTurn();
  const second = call();
  runs[0]!.resolve(1);
  await first;
  // Only then has the next call planned its start.
  await new Promise((resolve) => process.nextTick(resolve));
  await turn();
  expect((await askedBehind(call))[0]).toBe(second);
  await wholeTurn();
  expect(runs).toHaveLength(2);
});

/** Asks in the next turn, behind what is planned for it already, as the work of a request does that this turn reads. */
const askedBehind = <T>(call: () => Promise<T>) =>
  new Promise<[Promise<T>]>((resolve) => setImmediate(() => resolve([call()])));
