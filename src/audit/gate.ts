import { PlantStoreError } from '../domain/errors.ts';

/** Lets in so many at once: the others are refused at once, and nobody waits. */
export class Gate {
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /** Takes a place until it is disposed of. Throws OVERLOADED when there is none. */
  enter(): Disposable {
    if (this.#free === 0)
      throw new PlantStoreError('OVERLOADED', 'too many calls of this kind are running; try again later', {
        retryAfter: 10,
      });
    this.#free--;
    return { [Symbol.dispose]: () => void this.#free++ };
  }
}
