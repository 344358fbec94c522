import type { Plant, PlantKey } from '../../domain/plant.ts';
import { turn } from '../../time/host.ts';
import type { Rows, Store } from '../store.ts';

/** Most keys of one read: the size of a batch of commands. */
const MOST = 512;

/** A row of the read model, with the state of the read model at the read. */
interface ReadRow extends Omit<Rows<never>, 'rows'> {
  /** Undefined: no such row. */
  readonly row: Plant | undefined;
}

/** Reads rows of the read model by key. Calls in the same turn of the event loop share a read. */
export class RowReader {
  readonly #store: Pick<Store, 'get'>;
  #keys: PlantKey[] = [];
  #read: Promise<Rows<Plant | undefined>> | undefined;

  constructor(store: Pick<Store, 'get'>) {
    this.#store = store;
  }

  /** The row of a key, as of a moment after the call. */
  async row(key: PlantKey): Promise<ReadRow> {
    if (this.#keys.length === MOST) this.#read = undefined;
    this.#read ??= this.#readSoon();
    const index = this.#keys.push(key) - 1;
    const { rows, ...standing } = await this.#read;
    return { row: rows[index], ...standing };
  }

  async #readSoon(): Promise<Rows<Plant | undefined>> {
    const keys: PlantKey[] = [];
    this.#keys = keys;
    await turn();
    if (this.#keys === keys) this.#read = undefined;
    return this.#store.get(keys);
  }
}
