import type { Changes, OwnedRow, Rebuild } from '../../../src/log/store.ts';
import type { Write } from './database.ts';
import type { MemoryStore } from './memory-store.ts';
import { pages, sortedRows } from './snapshot.ts';
import { changedRows, type State, type StoredRows } from './state.ts';

/** A read model beside the live one. Once another rebuild has begun, it can do nothing more. */
export class MemoryRebuild implements Rebuild {
  readonly #store: MemoryStore;
  readonly #number: number;
  readonly #batch: number;

  constructor(store: MemoryStore, number: number, batch: number) {
    this.#store = store;
    this.#number = number;
    this.#batch = batch;
  }

  apply(changes: Changes): Promise<void> {
    return this.#store.write('apply', (state) => ({
      changes: { building: { number: this.#number, rows: changedRows(this.#rows(state), changes) } },
      result: undefined,
    }));
  }

  all(): AsyncIterable<OwnedRow[]> {
    const look = (after: OwnedRow | undefined) =>
      this.#store.fresh('all', (state) => sortedRows(this.#rows(state), after).slice(0, this.#batch));
    return pages(look, this.#batch);
  }

  swap(position: number): Promise<boolean> {
    return this.#store.write('swap', (state) => {
      const rows = this.#rows(state);
      if (state.checkpoint > position) return { changes: {}, result: false };
      const changes = { rows, checkpoint: position, generation: this.#number, building: undefined };
      return { changes, result: true };
    });
  }

  close(): Promise<void> {
    return this.#store.write(
      'close',
      ({ building }): ReturnType<Write<void>> => ({
        changes: building?.number === this.#number ? { building: undefined } : {},
        result: undefined,
      }),
    );
  }

  #rows({ building }: State): StoredRows {
    if (building?.number !== this.#number) throw new Error('another rebuild was started');
    return building.rows;
  }
}
