import { expect, test } from 'vitest';
import { Turnstile } from '../../src/transport/admission/turnstile.ts';

test('so many are let in at once, then those that wait in their order; more are refused', async () => {
  const turnstile = new Turnstile(2, 3);
  const order: number[] = [];
  const enter = async (name: number) => {
    const place = await turnstile.enter();
    order.push(name);
    return place;
  };
  const places = [await enter(0), await enter(1)];
  const waiting = [enter(2), enter(3), enter(4)];
  await expect(enter(5)).rejects.toMatchObject({ reason: 'OVERLOADED' });
  expect(order).toEqual([0, 1]);
  places[0]![Symbol.dispose]();
  places.push(await waiting[0]!);
  expect(order).toEqual([0, 1, 2]);
  for (const place of places.slice(1)) place[Symbol.dispose]();
  for (const place of await Promise.all(waiting.slice(1))) place[Symbol.dispose]();
  expect(order).toEqual([0, 1, 2, 3, 4]);
  // All places are free again.
  using _one = await turnstile.enter();
  using _two = await turnstile.enter();
  let third = false;
  void turnstile.enter().then(() => {
    third = true;
  });
  await new Promise(setImmediate);
  expect(third).toBe(false);
});
