import { PlantStoreError } from './domain/errors.ts';
import { nextTurn } from './time/host.ts';

const FULL = new PlantStoreError('OVERLOADED', 'too many requests are being served; try again', { retryAfter: 1 });

/**
 * Bounds concurrent work. Further callers wait; owners take turns, and callers of one owner go in order of arrival. An
 * owner's callers above the bound on waiting are refused.
 */
export class Turnstile {
  #free: number;
  readonly #maxWaiting: number;
  /** Callers that wait, by owner. The owner whose turn it is comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #place: Disposable = { [Symbol.dispose]: () => this.#leave() };

  /** `places`: most callers at once. `maxWaiting`: most callers of an owner that wait. */
  constructor(places: number, maxWaiting: number) {
    this.#free = places;
    this.#maxWaiting = maxWaiting;
  }

  /** Resolves with a place; dispose of it to give it back. Rejects with OVERLOADED when too many of the owner wait. */
  async enter(owner: string): Promise<Disposable> {
    if (this.#free > 0) this.#free--;
    else {
      const waiting = this.#waiting.get(owner) ?? [];
      if (waiting.length >= this.#maxWaiting) throw FULL;
      this.#waiting.set(owner, waiting);
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    return this.#place;
  }

  /**
   * Gives the place to the next caller, in the next turn of the event loop: work on the embedded store ends within its
   * turn, so that all callers would otherwise work in one.
   */
  #leave(): void {
    const next = this.#next();
    if (next === undefined) this.#free++;
    else nextTurn(next);
  }

  /** Removes the first caller of the owner whose turn it is, and puts that owner behind the others. */
  #next(): (() => void) | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [owner, waiting] = first;
    const next = waiting.shift();
    this.#waiting.delete(owner);
    if (waiting.length > 0) this.#waiting.set(owner, waiting);
    return next;
  }
}
