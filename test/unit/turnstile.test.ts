import { expect, test } from 'vitest';
import { Turnstile } from '../../src/turnstile.ts';

test('callers that wait go on one in a turn of the event loop, in order; beyond the bound they are refused', async () => {
  const turnstile = new Turnstile(1, 3);
  let turn = 0;
  const next = () => {
    turn++;
    immediate = setImmediate(next);
  };
  let immediate = setImmediate(next);
  const worked: [caller: number, turn: number][] = [];
  const work = async (caller: number) => {
    using _place = await turnstile.enter('alice');
    worked.push([caller, turn]);
  };
  const all = [0, 1, 2, 3].map(work);
  await expect(work(4)).rejects.toMatchObject({ reason: 'OVERLOADED' });
  await Promise.all(all);
  clearImmediate(immediate);
  expect(worked.map(([caller]) => caller)).toEqual([0, 1, 2, 3]);
  expect(new Set(worked.map(([, at]) => at)).size).toBe(4);
});

test('owners take turns, and the callers of one leave room for those of another', async () => {
  const turnstile = new Turnstile(1, 3);
  const worked: string[] = [];
  const work = async (owner: string, caller: number) => {
    using _place = await turnstile.enter(owner);
    worked.push(`${owner} ${caller}`);
  };
  const all = [0, 1, 2, 3].map((caller) => work('alice', caller)).concat([0, 1].map((caller) => work('bob', caller)));
  await Promise.all(all);
  expect(worked).toEqual(['alice 0', 'alice 1', 'bob 0', 'alice 2', 'bob 1', 'alice 3']);
});
