import { PlantStoreError } from '../../domain/errors.ts';
import type { Snapshot } from '../store.ts';

/** Counts the long lists that each owner is reading, so that none takes all of what the store can hold open. */
export class OwnerLists {
  readonly #limit: number;
  /** Owners who read one at the moment, and how many. */
  readonly #reading = new Map<string, number>();

  /** At most so many at once for each owner. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Opens a snapshot for a list of an owner, who has one less until it is closed. Rejects with TOO_MANY_LISTS. */
  async open(owner: string, snapshot: () => Promise<Snapshot>): Promise<Snapshot> {
    const reading = this.#reading.get(owner) ?? 0;
    if (reading >= this.#limit)
      throw new PlantStoreError(
        'TOO_MANY_LISTS',
        'too many long lists of this owner are being read; read them to their end, or in pages with limit',
        { retryAfter: 1 },
      );
    this.#reading.set(owner, reading + 1);
    try {
      return this.#counted(owner, await snapshot());
    } catch (error) {
      this.#leave(owner);
      throw error;
    }
  }

  #counted(owner: string, snapshot: Snapshot): Snapshot {
    let closed: Promise<void> | undefined;
    return {
      position: snapshot.position,
      list: snapshot.list.bind(snapshot),
      all: snapshot.all.bind(snapshot),
      close: () => {
        closed ??= snapshot.close().finally(() => this.#leave(owner));
        return closed;
      },
    };
  }

  #leave(owner: string): void {
    const left = this.#reading.get(owner)! - 1;
    if (left === 0) this.#reading.delete(owner);
    else this.#reading.set(owner, left);
  }
}
