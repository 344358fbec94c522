import type { PlantState } from '../domain/decider.ts';
import { keyString, type PlantKey } from '../domain/plant.ts';
import type { Follower } from './follower.ts';
import type { Store } from './store.ts';
import type { Tail } from './tail.ts';
import { unavailable } from './unavailable.ts';

/** The state of some keys, at the head whenever it is asked. Holds on to the tail until it is released. */
export interface States {
  /** Whether the key is one of those that were asked for. */
  has(key: string): boolean;
  of(key: string): PlantState;
  release(): void;
}

/**
 * The plants at the head of the log: the read model with the tail on top.
 *
 * Rows may be read while the projector moves. They merge exactly all the same: the tail is pinned at a checkpoint known before
 * the read and reaches at least the checkpoint after it, so a key with an event in between has it in the tail, and any other
 * key's row is the same whenever it was read.
 */
export class View {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #follower: Follower;

  constructor(store: Store, tail: Tail, follower: Follower) {
    this.#store = store;
    this.#tail = tail;
    this.#follower = follower;
  }

  /** Loads the state of keys. Rejects with STORE_UNAVAILABLE when the store cannot be reached. */
  async states(keys: readonly PlantKey[]): Promise<States> {
    const pin = this.#tail.pin();
    try {
      const rows = new Map<string, PlantState>(keys.map(({ owner, id }) => [keyString(owner, id), undefined]));
      const missing = keys.filter(({ owner, id }) => this.#tail.get(keyString(owner, id)) === undefined);
      if (missing.length > 0) {
        const read = await this.#store.get(missing);
        await this.#settle(read.checkpoint);
        missing.forEach(({ owner, id }, index) => {
          rows.set(keyString(owner, id), read.rows[index]);
        });
      }
      const of = (key: string): PlantState => {
        const entry = this.#tail.get(key);
        return entry === undefined ? rows.get(key) : entry.state;
      };
      return { has: (key) => rows.has(key), of, release: pin.release };
    } catch (error) {
      pin.release();
      throw unavailable(error);
    }
  }

  /** Rows that stand at a checkpoint want a tail that reaches at least there. */
  async #settle(checkpoint: number): Promise<void> {
    await this.#follower.reach(checkpoint);
    this.#tail.projected(checkpoint);
  }
}
