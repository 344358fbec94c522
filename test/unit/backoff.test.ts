import { afterEach, expect, test, vi } from 'vitest';
import { Backoff, repeat } from '../../src/time/backoff.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('a step that fails is tried again after pauses that double up to a limit, and are short again after a success; each fault is told until the end', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const stop = new AbortController();
  const outcomes = ['a', 'b', 'c', 'd', undefined, 'e', 'end'];
  const step = async () => {
    const fault = outcomes.shift();
    if (fault === 'end') stop.abort();
    if (fault !== undefined) throw fault;
  };
  const told: unknown[] = [];
  const running = repeat(step, stop.signal, new Backoff(100, 400), (fault) => told.push(fault));
  while (!stop.signal.aborted) await vi.advanceTimersToNextTimerAsync();
  await running;
  const pauses = timers.mock.calls.map(([, milliseconds]) => milliseconds!);
  const longest = [100, 200, 400, 400, 100];
  expect(pauses).toHaveLength(longest.length);
  for (const [index, most] of longest.entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(most / 2);
    expect(pauses[index]).toBeLessThanOrEqual(most);
  }
  expect(told).toEqual(['a', 'b', 'c', 'd', 'e']);
});
