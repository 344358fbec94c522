import { expect, test } from 'vitest';
import { freshAnswer, pause } from '../../src/time/pause.ts';

const LIMIT = 100;

/** As a process that is frozen: none of its timers runs meanwhile. */
const standStill = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * LIMIT);

async function asked(...steps: (() => unknown)[]): Promise<number> {
  let count = 0;
  return freshAnswer(LIMIT, async () => {
    await (steps[count++] ?? (() => {}))();
    return count;
  });
}

const slowly = () => pause(2 * LIMIT);

test('what took too long is asked once more, and then counts where the process went on meanwhile', async () => {
  expect(await asked()).toBe(1);
  expect(await asked(slowly)).toBe(2);
  expect(await asked(slowly, slowly)).toBe(2);
});

test('what a frozen process was told is asked again, also after a slow answer', async () => {
  expect(await asked(standStill)).toBe(2);
  expect(await asked(slowly, standStill)).toBe(3);
  expect(await asked(standStill, standStill, standStill)).toBe(4);
  await expect(asked(...Array.from({ length: 10 }, () => standStill))).rejects.toThrow('stands still again and again');
});
