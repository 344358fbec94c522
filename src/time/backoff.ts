import { random } from './host.ts';
import { pause } from './pause.ts';

/**
 * Exponential backoff with jitter. Each failure doubles the pause, up to a limit. A random part of up to half is
 * subtracted, so that clients that failed together do not retry together.
 */
export class Backoff {
  readonly #first: number;
  readonly #longest: number;
  #failures = 0;

  /** Both in milliseconds. */
  constructor(first: number, longest: number) {
    this.#first = first;
    this.#longest = longest;
  }

  /** Milliseconds to pause after one more failure. */
  next(): number {
    const pause = Math.min(this.#first * 2 ** this.#failures, this.#longest);
    this.#failures++;
    return pause * (0.5 + random() / 2);
  }

  /** Call after a success: the next pause is the first one again. */
  reset(): void {
    this.#failures = 0;
  }
}

/** Runs a step repeatedly until the signal aborts. A failed step is reported to `onFault` and retried after a pause. */
export async function repeat(
  step: () => Promise<void>,
  signal: AbortSignal,
  backoff: Backoff,
  onFault: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await step();
      backoff.reset();
    } catch (error) {
      if (!signal.aborted) onFault(error);
      await pause(backoff.next(), signal);
    }
  }
}
