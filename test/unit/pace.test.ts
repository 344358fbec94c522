import { expect, test } from 'vitest';
import { Pace } from '../../src/time/pause.ts';

/** As a process that is frozen: none of its timers runs meanwhile. */
const standStill = (milliseconds: number) =>
  void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

async function restAfter(milliseconds: number, signal?: AbortSignal): Promise<number> {
  const pace = new Pace();
  standStill(milliseconds);
  const began = performance.now();
  await pace.rest(signal);
  return performance.now() - began;
}

test('long work rests as long as its last piece took, but not as long as its process stood still', async () => {
  const rest = await restAfter(100);
  expect(rest).toBeGreaterThan(90);
  expect(rest).toBeLessThan(900);
  expect(await restAfter(3_000)).toBeLessThan(2_000);
});

test('a rest ends with the work', async () => {
  expect(await restAfter(900, AbortSignal.abort())).toBeLessThan(500);
});
