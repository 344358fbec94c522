import type { PlantState } from '../domain/decider.ts';
import { keyString, type PlantKey } from '../domain/plant.ts';
import type { Follower } from './follower.ts';
import { type ListQuery, openListing, type PlantList } from './listing.ts';
import { Merge } from './merge.ts';
import { OwnerLists } from './owner-lists.ts';
import type { PlantRow, Store } from './store.ts';
import type { Tail } from './tail.ts';
import { unavailable } from './unavailable.ts';

/** Plants that one plain read is sure to answer; longer lists are streamed from a snapshot. */
export const PAGE_ROWS = 1_000;

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
  readonly #lists: OwnerLists;

  /** `lists`: most long lists that one owner may be reading. */
  constructor(store: Store, tail: Tail, follower: Follower, lists: number) {
    this.#store = store;
    this.#tail = tail;
    this.#follower = follower;
    this.#lists = new OwnerLists(lists);
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

  /**
   * The plants of an owner as of one position that is no older than anything acknowledged before the call. Rejects with
   * STORE_UNAVAILABLE, or with OVERLOADED or, for this owner, TOO_MANY_LISTS when too many long lists are being streamed.
   */
  async list(query: ListQuery): Promise<PlantList> {
    try {
      await this.#follower.sync();
      if (query.limit === 0) return { plants: [], next: undefined };
      return (await this.#page(query)) ?? (await this.#long(query));
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** A list that one plain read answers, or undefined. */
  async #page({ owner, after, limit }: ListQuery): Promise<PlantList | undefined> {
    const pin = this.#tail.pin();
    try {
      // Each entry of the tail may take one row away; one more row tells whether the limit cuts.
      const wanted =
        Math.min(limit ?? PAGE_ROWS, PAGE_ROWS) + 1 + Math.min(this.#tail.ownedBy(owner, after).length, PAGE_ROWS);
      const { rows, checkpoint } = await this.#store.list(owner, after, wanted);
      await this.#settle(checkpoint);
      const merge = new Merge(this.#tail.ownedBy(owner, after));
      const whole = rows.length < wanted;
      const known = merge.rows(rows);
      const plants = whole ? known.concat(merge.rest()) : known;
      if (limit !== undefined && plants.length > limit) return cut(plants, limit);
      return whole ? { plants, next: undefined } : undefined;
    } finally {
      pin.release();
    }
  }

  /** A list of any length, as of one position: a snapshot, and what the tail holds of the owner now. */
  async #long(query: ListQuery): Promise<PlantList> {
    const pin = this.#tail.pin();
    try {
      const snapshot = await this.#lists.open(query.owner, () => this.#store.snapshot());
      try {
        await this.#settle(snapshot.position);
        return await openListing(snapshot, this.#tail.ownedBy(query.owner, query.after), query);
      } catch (error) {
        await snapshot.close();
        throw error;
      }
    } finally {
      pin.release();
    }
  }

  /** Rows that stand at a checkpoint want a tail that reaches at least there. */
  async #settle(checkpoint: number): Promise<void> {
    await this.#follower.reach(checkpoint);
    this.#tail.projected(checkpoint);
  }
}

/** The first `limit` of more plants, and where the rest goes on. */
function cut(plants: readonly PlantRow[], limit: number): PlantList {
  return { plants: plants.slice(0, limit), next: plants[limit - 1]!.id };
}
