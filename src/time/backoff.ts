/**
 * How long to pause before the next attempt: each failure doubles the pause, up to a limit. A random half of it is left out, so that
 * those who failed together do not come again together.
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
    return pause * (0.5 + Math.random() / 2);
  }

  /** After a success: the next failure is the first one again. */
  reset(): void {
    this.#failures = 0;
  }
}
