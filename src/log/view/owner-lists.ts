import { PlantStoreError } from '../../domain/errors.ts';
import type { Snapshot } from '../store.ts';

/** Bounds the long lists that each owner reads at a time, so that one owner cannot use up all open snapshots. */
export class OwnerLists {
  readonly #limit: number;
  /** The number of long lists that each owner is reading. */
  readonly #reading = new Map<string, number>();

  /** `limit`: most lists of one owner at a time. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Opens a snapshot for an owner's list. The snapshot counts until it is closed. Rejects with TOO_MANY_LISTS. */
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
      upTo: snapshot.upTo,
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
