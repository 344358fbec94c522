import { expect, test } from 'vitest';
import { OwnAppends } from '../../src/log/commit/doubts.ts';

test('an append that lands ends the doubts about commands sent before it, and one that does not ends none', () => {
  const appends = new OwnAppends();
  appends.saw(5);
  expect(appends.ownAfter(4)).toBe(false);
  // Another instance has taken position 6.
  appends.appended(5, 0);
  expect([4, 5].map((position) => appends.ownAfter(position))).toEqual([false, false]);
  appends.saw(6);
  appends.appended(6, 2);
  expect([7, 8].map((position) => appends.ownAfter(position))).toEqual([true, false]);
});

test('what others appended is told from what was appended here', () => {
  const appends = new OwnAppends();
  appends.saw(3);
  expect([2, 3].map((position) => appends.othersAfter(position))).toEqual([true, false]);
  appends.appended(3, 2);
  appends.saw(5);
  expect(appends.othersAfter(3)).toBe(false);
  appends.saw(6);
  expect([5, 6].map((position) => appends.othersAfter(position))).toEqual([true, false]);
});
