import { OVERLOADED } from './admission.ts';

/** Bounds concurrent work. Further callers wait in order of arrival; callers above the bound on waiting are refused. */
export class Turnstile {
  #free: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  readonly #place: Disposable = { [Symbol.dispose]: () => this.#leave() };

  /** `places`: most callers at once. `maxWaiting`: most callers that wait. */
  constructor(places: number, maxWaiting: number) {
    this.#free = places;
    this.#maxWaiting = maxWaiting;
  }

  /** Resolves with a place; dispose of it to give it back. Rejects with OVERLOADED when too many wait. */
  async enter(): Promise<Disposable> {
    if (this.#free > 0) this.#free--;
    else if (this.#waiting.length >= this.#maxWaiting) throw OVERLOADED;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#place;
  }

  /**
   * Gives the place to the caller that has waited longest, in the next turn of the event loop: work on the embedded
   * store ends within its turn, so that all callers would otherwise work in one.
   */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else setImmediate(next);
  }
}
