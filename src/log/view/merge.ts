import { withId } from '../../domain/plant.ts';
import type { PlantRow } from '../store.ts';
import type { TailEntry } from '../tail/tail.ts';

/**
 * Merges rows of the read model with the tail's entries of the same owner, both in ascending id. For a key with an
 * entry, the entry counts; for any other key, the row counts. Takes the rows batch by batch.
 */
export class Merge {
  readonly #entries: readonly TailEntry[];
  #next = 0;

  constructor(entries: readonly TailEntry[]) {
    this.#entries = entries;
  }

  /** The plants up to the batch's last row. */
  rows(batch: readonly PlantRow[]): PlantRow[] {
    if (this.#next === this.#entries.length) return batch as PlantRow[];
    const merged: PlantRow[] = [];
    for (const row of batch) {
      this.#takeBelow(row.id, merged);
      const entry = this.#entries[this.#next];
      if (entry?.id === row.id) this.#take(entry, merged);
      else merged.push(row);
    }
    return merged;
  }

  /** The plants after the last row of all. */
  rest(): PlantRow[] {
    const merged: PlantRow[] = [];
    while (this.#next < this.#entries.length) this.#take(this.#entries[this.#next]!, merged);
    return merged;
  }

  #takeBelow(id: bigint, merged: PlantRow[]): void {
    for (;;) {
      const entry = this.#entries[this.#next];
      if (entry === undefined || entry.id >= id) return;
      this.#take(entry, merged);
    }
  }

  #take({ id, state }: TailEntry, merged: PlantRow[]): void {
    this.#next++;
    if (state !== undefined) merged.push(withId(id, state));
  }
}
