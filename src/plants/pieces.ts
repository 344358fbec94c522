import { Semaphore } from '../semaphore.ts';
import { nextTurn } from '../time/host.ts';

/** Most bytes of plants in a piece of an answer that comes in pieces. To encode one takes some milliseconds at most. */
export const PIECE = 64 * 1024;
/** Most pieces in a turn of the event loop. */
const MOST = 2;

/** Spreads the pieces of long answers over the turns of the event loop, so that they hold up no other work. */
export class Pieces {
  readonly #permits = new Semaphore({ permits: MOST, maxWaiting: Infinity });

  /** Resolves when the next piece for an owner may be made. Owners take turns. */
  async turn(owner: string): Promise<void> {
    const permit = await this.#permits.acquire(owner);
    nextTurn(() => permit[Symbol.dispose]());
  }
}
