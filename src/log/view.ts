import type { Follower } from './follower.ts';
import { keyOf, type ListCache } from './list-cache.ts';
import { type ListQuery, openListing, type PlantList, type ShortList } from './listing.ts';
import { Merge } from './merge.ts';
import { OwnerLists } from './owner-lists.ts';
import type { PlantRow, Store } from './store.ts';
import type { Tail } from './tail.ts';
import { unavailable } from './unavailable.ts';

/** Plants that one plain read is sure to answer; longer lists are streamed from a snapshot. */
export const PAGE_ROWS = 1_000;

const EMPTY: ShortList = { plants: [], next: undefined };

/**
 * Lists at the head of the log: the read model with the tail on top.
 *
 * Rows may be read while the projector moves. They merge exactly all the same: the tail is pinned at a checkpoint known before
 * the read and reaches at least the checkpoint after it, so a key with an event in between has it in the tail, and any other
 * key's row is the same whenever it was read.
 */
export class View {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #follower: Follower;
  readonly #cache: ListCache;
  readonly #pages = new Map<string, Promise<ShortList | undefined>>();
  readonly #lists: OwnerLists;

  /** `lists`: most long lists that one owner may be reading. */
  constructor(store: Store, tail: Tail, follower: Follower, cache: ListCache, lists: number) {
    this.#store = store;
    this.#tail = tail;
    this.#follower = follower;
    this.#cache = cache;
    this.#lists = new OwnerLists(lists);
    tail.onExtended((news) => cache.extended(news));
  }

  /**
   * The plants of an owner as of one position that is no older than anything acknowledged before the call. Rejects with
   * STORE_UNAVAILABLE, or with OVERLOADED or, for this owner, TOO_MANY_LISTS when too many long lists are being streamed.
   */
  async list(query: ListQuery): Promise<PlantList> {
    try {
      await this.#follower.sync();
      if (query.limit === 0) return EMPTY;
      const list = this.#cache.get(query) ?? this.#refreshed(query);
      if (list !== undefined) return list;
      this.#cache.missed();
      return (await this.#page(query)) ?? (await this.#long(query));
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** A list of the cache brought to the head, if the tail still has all that came after it. */
  #refreshed(query: ListQuery): ShortList | undefined {
    const earlier = this.#cache.earlier(query);
    if (earlier === undefined || earlier.position < this.#tail.base) return undefined;
    const { plants, next } = earlier.list;
    return next === undefined && plants.length <= PAGE_ROWS ? this.#atHead(query, plants, true) : undefined;
  }

  /**
   * A list that one plain read answers, or undefined. Whoever asks for the same list meanwhile shares the read: the list is as of
   * its end.
   */
  #page(query: ListQuery): Promise<ShortList | undefined> {
    const key = keyOf(query);
    const reading = this.#pages.get(key);
    if (reading !== undefined) return reading;
    const page = this.#readPage(query).finally(() => this.#pages.delete(key));
    this.#pages.set(key, page);
    return page;
  }

  async #readPage(query: ListQuery): Promise<ShortList | undefined> {
    const { owner, after, limit } = query;
    const pin = this.#tail.pin();
    try {
      // Each entry of the tail may take one row away; one more row tells whether the limit cuts.
      const wanted =
        Math.min(limit ?? PAGE_ROWS, PAGE_ROWS) + 1 + Math.min(this.#tail.ownedBy(owner, after).length, PAGE_ROWS);
      const { rows, checkpoint } = await this.#store.list(owner, after, wanted);
      await this.#follower.settle(checkpoint);
      return this.#atHead(query, rows, rows.length < wanted);
    } finally {
      pin.release();
    }
  }

  /** The list at the tail's head, from all rows, or from the first if that is enough. */
  #atHead(query: ListQuery, rows: readonly PlantRow[], whole: boolean): ShortList | undefined {
    const { owner, after, limit } = query;
    const merge = new Merge(this.#tail.ownedBy(owner, after));
    const known = merge.rows(rows);
    const plants = whole ? known.concat(merge.rest()) : known;
    const isCut = limit !== undefined && plants.length > limit;
    if (!isCut && !whole) return undefined;
    const list = isCut ? cut(plants, limit) : { plants, next: undefined };
    this.#cache.set(query, list);
    return list;
  }

  /** A list of any length, as of one position: a snapshot, and what the tail holds of the owner now. */
  async #long(query: ListQuery): Promise<PlantList> {
    const pin = this.#tail.pin();
    try {
      const snapshot = await this.#lists.open(query.owner, () => this.#store.snapshot());
      try {
        await this.#follower.settle(snapshot.position);
        return await openListing(snapshot, this.#tail.ownedBy(query.owner, query.after), query);
      } catch (error) {
        await snapshot.close();
        throw error;
      }
    } finally {
      pin.release();
    }
  }
}

/** The first `limit` of more plants, and where the rest goes on. */
function cut(plants: readonly PlantRow[], limit: number): ShortList {
  return { plants: plants.slice(0, limit), next: plants[limit - 1]!.id };
}
