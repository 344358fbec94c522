import { clearTimer, monotonic, setTimer } from './host.ts';

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

/** A pause that others can end at no cost: an AbortController makes an error with a stack trace each time. */
export class Nap {
  #end: (() => void) | undefined;

  /** Resolves after the given milliseconds with false, or with true when it was woken. */
  take(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const over = (woken: boolean) => {
        clearTimer(timer);
        this.#end = undefined;
        resolve(woken);
      };
      const timer = setTimer(() => over(false), milliseconds);
      this.#end = () => over(true);
    });
  }

  wake(): void {
    this.#end?.();
  }
}

/** Long work in pieces that leaves half of the time to others, in this process and in the database. */
export class Pace {
  #since = monotonic();

  /** Pauses as long as the last piece took: since the last call, or since this was made. See `pause`. */
  async rest(signal?: AbortSignal): Promise<void> {
    await pause(monotonic() - this.#since, signal);
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

/**
 * What is asked, as of at most so many milliseconds ago. It is asked once more if that took longer, as the process may
 * have been frozen: a store that is always slower is no reason to ask for ever.
 */
export async function recent<T>(milliseconds: number, ask: () => Promise<T>): Promise<T> {
  const began = monotonic();
  const answer = await ask();
  return monotonic() < began + milliseconds ? answer : ask();
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
