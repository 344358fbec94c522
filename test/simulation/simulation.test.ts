import { describe, expect, test } from 'vitest';
import { runHistory } from './history.ts';
import { search } from './search.ts';
import { report, shrink } from './shrink.ts';

/** Milliseconds of random histories in each run of the tests. */
const BUDGET = 20_000;

describe('simulated histories', () => {
  test.each([11, 12, 13])('the same seed gives the same history (%i)', async (seed) => {
    const [once, again] = [await runHistory(seed), await runHistory(seed)];
    expect(again.story).toEqual(once.story);
    expect(again.world.scheduler.done).toBe(once.world.scheduler.done);
  });

  test('whatever happens, every promise is kept', async () => {
    const { failed } = await search(Math.floor(Math.random() * 2 ** 31), BUDGET);
    if (failed !== undefined) throw new Error(`seed ${failed.seed}:\n${report(await shrink(failed))}`);
  });
});
