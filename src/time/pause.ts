import { clearTimer, monotonic, setRepeating, setTimer } from './host.ts';

/** Resolves after the given milliseconds, or when the signal aborts. Never rejects. */
export const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const over = () => {
      clearTimer(timer);
      signal?.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimer(over, Math.max(milliseconds, 0));
    signal?.addEventListener('abort', over);
  });

/** Most milliseconds of a rest. A piece that took longer was one in which the process stood still. */
const LONGEST_REST = 1_000;

/** Long work in pieces that leaves half of the time to others, in this process and in the database. */
export class Pace {
  #since = monotonic();

  /**
   * Pauses as long as the last piece took, since the last call or since this was made, but a second at most. See
   * `pause`.
   */
  async rest(signal?: AbortSignal): Promise<void> {
    await pause(Math.min(monotonic() - this.#since, LONGEST_REST), signal);
    this.#since = monotonic();
  }
}

/** Settles as the work does, or rejects with `late()` after the given milliseconds. The work itself is not stopped. */
export function withTimeout<T>(work: Promise<T>, milliseconds: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimer(() => reject(late()), milliseconds);
    work.then(resolve, reject).finally(() => clearTimer(timer));
  });
}

/** Most times that `freshAnswer` asks. It asks more than twice only while the process stands still again and again. */
const MOST_ASKED = 10;

/**
 * The answer to `ask`, at most so many milliseconds old. Asks again if the answer took longer. The second answer of a
 * slow store counts, however long it takes. But an answer during which the process itself stood still for so long, as
 * one that is frozen, never counts. Rejects if the process stands still again and again.
 */
export async function freshAnswer<T>(milliseconds: number, ask: () => Promise<T>): Promise<T> {
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const began = monotonic();
    const { answer, stoodStill } = await watched(ask, milliseconds / 4);
    if (monotonic() < began + milliseconds || (asked > 1 && stoodStill < milliseconds)) return answer;
  }
  throw new Error('this process stands still again and again while it asks the store');
}

/**
 * The answer, and the longest time in milliseconds for which the process stood still meanwhile, as a timer of this
 * interval shows it.
 */
async function watched<T>(ask: () => Promise<T>, interval: number): Promise<{ answer: T; stoodStill: number }> {
  let [seen, stoodStill] = [monotonic(), 0];
  const check = () => {
    const now = monotonic();
    stoodStill = Math.max(stoodStill, now - seen);
    seen = now;
  };
  const timer = setRepeating(check, interval);
  try {
    const answer = await ask();
    check();
    return { answer, stoodStill };
  } finally {
    clearTimer(timer);
  }
}

/** Settles as a step does, or rejects with the signal's reason once it aborts. The step itself is not stopped. */
export function unlessAborted<T>(step: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return step;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const end = () => reject(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener('abort', end);
  step.finally(() => signal.removeEventListener('abort', end)).then(resolve, reject);
  return promise;
}
