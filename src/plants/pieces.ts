import { Semaphore } from '../semaphore.ts';
import { nextTurn } from '../time/host.ts';

/** Most bytes of plants in a piece of an answer that comes in pieces. To encode one takes some milliseconds at most. */
export const PIECE = 64 * 1024;
/** Most pieces in a turn of the event loop. */
const MOST = 2;

/** Splits items into runs of at most `most` bytes, or one item, and of at most `count` items. No run is empty. */
export function* runs<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  most: number,
  count = Number.POSITIVE_INFINITY,
): Generator<readonly Item[]> {
  let start = 0;
  let bytes = 0;
  for (let end = 0; end < items.length; end++) {
    const size = bytesOf(items[end]!);
    if (end - start === count || (end > start && bytes + size > most)) {
      yield items.slice(start, end);
      start = end;
      bytes = 0;
    }
    bytes += size;
  }
  if (start < items.length) yield start === 0 ? items : items.slice(start);
}

/** Spreads the pieces of long answers over the turns of the event loop, so that they hold up no other work. */
export class Pieces {
  readonly #permits = new Semaphore({ permits: MOST, maxWaiting: Infinity });

  /** Resolves when the next piece for an owner may be made. Owners take turns. */
  async turn(owner: string): Promise<void> {
    const permit = await this.#permits.acquire(owner);
    nextTurn(() => permit[Symbol.dispose]());
  }
}
