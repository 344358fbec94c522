import { type PlantKey, withId } from '../../../src/domain/plant.ts';
import type { OwnedRow, PlantRow, Snapshot } from '../../../src/log/store.ts';
import type { MemoryStore } from './memory-store.ts';
import { inOrder, type State, type StoredRows } from './state.ts';

/** An owner's rows after an id, in ascending id. */
export function ownersRows(rows: StoredRows, owner: string, after: bigint | undefined): OwnedRow[] {
  const found: OwnedRow[] = [];
  for (const row of rows.values()) if (row.owner === owner && (after === undefined || row.id > after)) found.push(row);
  return found.sort(inOrder);
}

/** All rows after a key, in order. */
export function sortedRows(rows: StoredRows, after: PlantKey | undefined): OwnedRow[] {
  const sorted = [...rows.values()].sort(inOrder);
  return after === undefined ? sorted : sorted.filter((row) => inOrder(row, after) > 0);
}

/** Pages until one is not full. */
export async function* pages<Row>(
  look: (after: Row | undefined) => Promise<Row[]>,
  size: number,
): AsyncGenerator<Row[]> {
  for (let last: Row | undefined, isOver = false; !isOver; ) {
    const page = await look(last);
    isOver = page.length < size;
    last = page.at(-1);
    if (page.length > 0) yield page;
  }
}

/** A state of the read model, read page by page. Each page is a call. */
export class MemorySnapshot implements Snapshot {
  readonly position: number | undefined;
  readonly upTo: number;
  readonly #store: MemoryStore;
  readonly #state: State;
  readonly #batch: number;
  #isClosed = false;

  constructor(store: MemoryStore, state: State, batch: number) {
    this.position = state.checkpoint;
    this.upTo = Math.max(state.checkpoint ?? 0, state.upTo);
    this.#store = store;
    this.#state = state;
    this.#batch = batch;
  }

  list(owner: string, after: bigint | undefined): AsyncIterable<PlantRow[]> {
    const look = async (last: PlantRow | undefined) => {
      const rows = await this.#page((stored) => ownersRows(stored, owner, last?.id ?? after));
      return rows.map((row) => withId(row.id, row));
    };
    return pages(look, this.#batch);
  }

  all(): AsyncIterable<OwnedRow[]> {
    return pages((last: OwnedRow | undefined) => this.#page((stored) => sortedRows(stored, last)), this.#batch);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async #page(find: (rows: StoredRows) => OwnedRow[]): Promise<OwnedRow[]> {
    // The call takes its time, and may fail.
    await this.#store.fresh('a page', () => undefined);
    if (this.#isClosed) throw new Error('the snapshot is closed');
    return find(this.#state.rows).slice(0, this.#batch);
  }
}
