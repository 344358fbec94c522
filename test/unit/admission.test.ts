import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Admission, type AdmissionLimits } from '../../src/transport/admission.ts';

function admission(limits: Partial<AdmissionLimits>): Admission {
  const made = new Admission({ maxInFlight: 1_000_000, maxEventLoopDelay: 60_000, ...limits });
  onTestFinished(() => made.close());
  return made;
}

const refusal = expect.objectContaining({ reason: 'OVERLOADED', details: { retryAfter: 1 } });

/** Keeps the event loop for some milliseconds. */
function stall(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('so many are let in at once, and another as soon as one is done', () => {
  const limited = admission({ maxInFlight: 2 });
  const first = limited.enter();
  limited.enter();
  expect(() => limited.enter()).toThrow(refusal);
  expect(limited.inFlight).toBe(2);
  first[Symbol.dispose]();
  limited.enter();
  expect(() => limited.enter()).toThrow(refusal);
});

test('turns that take too long, one after the other, refuse what is left of them; a single one does not', async () => {
  const busy = admission({ maxEventLoopDelay: 20 });
  stall(500);
  busy.enter();
  const isRefused = () => {
    try {
      busy.enter();
      return false;
    } catch {
      return true;
    }
  };
  do {
    await setImmediate();
    stall(50);
  } while (!isRefused());
  expect(() => busy.enter()).toThrow(refusal);
  // Once the loop keeps up, all are let in again.
  while (isRefused()) await setImmediate();
});
