import { PlantStoreError } from '../domain/errors.ts';

/** Limits the number of concurrent calls. Refuses further calls immediately. */
export class ConcurrencyLimit {
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /** Takes a place until disposed of. Throws OVERLOADED if there is none. */
  enter(): Disposable {
    if (this.#free === 0)
      throw new PlantStoreError('OVERLOADED', 'too many calls of this kind are running; try again later', {
        retryAfter: 10,
      });
    this.#free--;
    return { [Symbol.dispose]: () => void this.#free++ };
  }
}
