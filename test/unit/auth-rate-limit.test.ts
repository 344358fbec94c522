import { array, assert, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { RateLimit } from '../../src/auth/rate-limit.ts';

const admits = (limit: RateLimit, owner: string, now: number): boolean => {
  try {
    limit.take(owner, now);
    return true;
  } catch {
    return false;
  }
};

test('in any span of time there are at most as many calls as a second has, and as many as accrue in that span', () => {
  assert(
    property(integer({ min: 1, max: 50 }), array(integer({ min: 0, max: 400 }), { maxLength: 200 }), (rate, pauses) => {
      const limit = new RateLimit(rate);
      let now = 1_000;
      const taken: number[] = [];
      for (const pause of pauses) {
        now += pause;
        if (admits(limit, 'alice', now)) taken.push(now);
      }
      for (const [first, start] of taken.entries())
        for (const [last, end] of taken.entries())
          if (last >= first) expect(last - first + 1).toBeLessThanOrEqual(rate + ((end - start) / 1_000) * rate + 1e-6);
    }),
  );
});

test('whoever keeps to the rate is never refused, nor is a burst of a second after a pause', () => {
  assert(
    property(integer({ min: 1, max: 1_000 }), integer({ min: 0, max: 3_000 }), (rate, calls) => {
      const limit = new RateLimit(rate);
      for (let call = 0; call < calls; call++) expect(admits(limit, 'alice', (call * 1_000) / rate)).toBe(true);
      const later = (calls * 1_000) / rate + 1_000;
      for (let call = 0; call < rate; call++) expect(admits(limit, 'alice', later)).toBe(true);
      expect(admits(limit, 'alice', later)).toBe(false);
    }),
  );
});

test('each owner has a budget of its own, and what is refused costs nothing of it', () => {
  const limit = new RateLimit(1);
  expect(admits(limit, 'alice', 0)).toBe(true);
  for (let now = 0; now < 1_000; now += 10) expect(admits(limit, 'alice', now)).toBe(false);
  expect(admits(limit, 'bob', 500)).toBe(true);
  expect(admits(limit, 'alice', 1_000)).toBe(true);
});

test('of long names, each has a limit of its own', () => {
  const limit = new RateLimit(1);
  const [one, other] = [`${'ж'.repeat(1_000)}1`, `${'ж'.repeat(1_000)}2`] as const;
  expect([admits(limit, one, 0), admits(limit, other, 0), admits(limit, one, 0)]).toEqual([true, true, false]);
});
