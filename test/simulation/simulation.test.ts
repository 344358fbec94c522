import { describe, expect, test } from 'vitest';
import { runHistory } from './history.ts';
import { search } from './search.ts';
import { SEEDS } from './seeds.ts';
import { report, shrink } from './shrink.ts';

/** Milliseconds of all histories in each run of the tests. */
const BUDGET = 20_000;
/** Milliseconds of random histories at least, however long the others take. */
const LEAST = 5_000;
const end = performance.now() + BUDGET;

describe('simulated histories', () => {
  test.each([11, 12, 13])('the same seed gives the same history (%i)', async (seed) => {
    const [once, again] = [await runHistory(seed), await runHistory(seed)];
    expect(again.story).toEqual(once.story);
    expect(again.world.scheduler.done).toBe(once.world.scheduler.done);
  });

  test.each(SEEDS)('a seed that failed once: %i', async (seed) => {
    const outcome = await runHistory(seed);
    if (outcome.violation !== undefined) throw new Error(report(outcome));
  });

  test('whatever happens, every promise is kept', async () => {
    const budget = Math.max(end - performance.now(), LEAST);
    const { failed } = await search(Math.floor(Math.random() * 2 ** 31), budget);
    if (failed !== undefined) throw new Error(`seed ${failed.seed}:\n${report(await shrink(failed))}`);
  });
});
