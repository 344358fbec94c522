import { OVERLOADED } from './admission.ts';

/** Lets in so many at once, the first to come the first to be let in; those beyond the bound on who waits are refused. */
export class Turnstile {
  #free: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  readonly #place: Disposable = { [Symbol.dispose]: () => this.#leave() };

  /** So many places, and so many that may wait for one. */
  constructor(places: number, maxWaiting: number) {
    this.#free = places;
    this.#maxWaiting = maxWaiting;
  }

  /** Resolves with a place, which is held until it is disposed of. Rejects with OVERLOADED when too many wait. */
  async enter(): Promise<Disposable> {
    if (this.#free > 0) this.#free--;
    else if (this.#waiting.length >= this.#maxWaiting) throw OVERLOADED;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.#place;
  }

  /** The place goes to who has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
