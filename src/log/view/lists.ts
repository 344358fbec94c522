import type { PlantState } from '../../domain/decider.ts';
import { keyString, type PlantKey } from '../../domain/plant.ts';
import type { PlantRow, Snapshot, Store } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import type { Tail, TailEntry } from '../tail/tail.ts';
import { unavailable } from '../unavailable.ts';
import type { Generation } from './generation.ts';
import { type ListCache, queryKey } from './list-cache.ts';
import { type Listing, type ListQuery, listBytes, openListing, type ShortList } from './listing.ts';
import { Merge } from './merge.ts';
import { OwnerLists } from './owner-lists.ts';
import { RowReader } from './row-reader.ts';

/** Most rows that one plain read is asked for, beside those that the tail may take away. */
const PAGE_ROWS = 1_000;
/** Bytes beyond which a list is not held in memory, but streamed from a snapshot: some 2,500 plants of usual names. */
const SHORT_LIST = 1024 * 1024;

/**
 * The lists of plants at the head of the log: from the cache, or from rows of the read model with the tail on top.
 *
 * Rows may be read while the projector moves. They merge exactly all the same: the tail is pinned at a checkpoint known before
 * the read and reaches at least the checkpoint after it, so a key with an event in between has it in the tail, and any other
 * key's row is the same whenever it was read. So it holds for several reads too, each going on after the last.
 */
export class Lists {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #follower: Follower;
  readonly #cache: ListCache;
  readonly #generation: Generation;
  readonly #owners: OwnerLists;
  readonly #rows: RowReader;
  /** The reads that have not merged yet, by their queries. */
  readonly #reading = new Map<string, Promise<ShortList | undefined>>();

  /** `long`: most long lists that one owner may be reading. */
  constructor(store: Store, tail: Tail, follower: Follower, generation: Generation, cache: ListCache, long: number) {
    this.#store = store;
    this.#tail = tail;
    this.#follower = follower;
    this.#cache = cache;
    this.#generation = generation;
    this.#owners = new OwnerLists(long);
    this.#rows = new RowReader(store);
    generation.onReplaced(() => cache.clear());
    tail.onExtended((news) => cache.extended(news));
  }

  /**
   * The plants of an owner as of one position that is no older than anything acknowledged before the call. Rejects with
   * STORE_UNAVAILABLE, or with OVERLOADED or, for this owner, TOO_MANY_LISTS when too many long lists are being streamed.
   */
  async list(query: ListQuery): Promise<Listing> {
    try {
      const look = this.#generation.look();
      await (look === undefined ? this.#follower.sync() : Promise.all([this.#follower.sync(), look]));
      if (query.limit === 0) return { plants: [], next: undefined, position: this.#tail.head.position };
      const list = this.#cache.get(query) ?? this.#refreshed(query);
      if (list !== undefined) return list;
      this.#cache.missed();
      return (await this.#short(query)) ?? (await this.#long(query));
    } catch (error) {
      throw unavailable(error);
    }
  }

  /**
   * The plant of a key, as of one position that is no older than anything acknowledged before the call; undefined: there is none.
   * Rejects with STORE_UNAVAILABLE.
   */
  async get(key: PlantKey): Promise<PlantState> {
    const name = keyString(key.owner, key.id);
    try {
      await this.#follower.sync();
      const entry = this.#tail.get(name);
      if (entry !== undefined) return entry.state;
      const pin = this.#tail.pin();
      try {
        const { row, checkpoint, generation } = await this.#rows.row(key);
        this.#generation.heard(generation);
        await this.#follower.reachCheckpoint(checkpoint);
        const later = this.#tail.get(name);
        return later === undefined ? row : later.state;
      } finally {
        pin.release();
      }
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** A list of the cache brought to the head, if the tail still has all that came after it. */
  #refreshed(query: ListQuery): ShortList | undefined {
    const earlier = this.#cache.earlier(query);
    if (earlier === undefined || earlier.position < this.#tail.base) return undefined;
    const { plants, next } = earlier.list;
    if (next !== undefined || listBytes(plants) > SHORT_LIST) return undefined;
    return this.#atHead(query, plants, true, this.#generation.current);
  }

  /**
   * A list that plain reads answer, or undefined when it is too long. Whoever asks for the same one meanwhile shares the reads: it
   * is as of their end.
   */
  #short(query: ListQuery): Promise<ShortList | undefined> {
    // Whoever asks after a rebuild is not answered with the rows before it.
    const key = `${this.#generation.current},${queryKey(query)}`;
    const reading = this.#reading.get(key);
    if (reading !== undefined) return reading;
    const list = this.#readShort(query, key);
    this.#reading.set(key, list);
    return list;
  }

  async #readShort(query: ListQuery, key: string): Promise<ShortList | undefined> {
    const { owner, after, limit } = query;
    const pin = this.#tail.pin();
    try {
      // Each entry of the tail may take one row away; one more row tells whether the limit cuts.
      const wanted =
        Math.min(limit ?? PAGE_ROWS, PAGE_ROWS) + 1 + Math.min(this.#tail.ownedBy(owner, after).length, PAGE_ROWS);
      const known: PlantRow[] = [];
      let oldest = Number.POSITIVE_INFINITY;
      do {
        const { rows, checkpoint, generation } = await this.#store.list(owner, known.at(-1)?.id ?? after, wanted);
        this.#generation.heard(generation);
        oldest = Math.min(oldest, generation);
        await this.#follower.reachCheckpoint(checkpoint);
        known.push(...rows);
        const list = this.#atHead(query, known, rows.length < wanted, oldest);
        if (list !== undefined) return list;
      } while (listBytes(known) <= SHORT_LIST);
      return undefined;
    } finally {
      // In the same step as the merge: whoever asks from here on may know of a later event.
      this.#reading.delete(key);
      pin.release();
    }
  }

  /** The list at the tail's head, from all rows, or from the first if that is enough; `generation` is the oldest of them. */
  #atHead(query: ListQuery, rows: readonly PlantRow[], whole: boolean, generation: number): ShortList | undefined {
    const { owner, after, limit } = query;
    if (!whole && rows.length <= (limit ?? Number.POSITIVE_INFINITY)) return undefined;
    const merge = new Merge(this.#tail.ownedBy(owner, after));
    const known = merge.rows(rows);
    const plants = whole ? known.concat(merge.rest()) : known;
    const isCut = limit !== undefined && plants.length > limit;
    if (!isCut && !whole) return undefined;
    const { position } = this.#tail.head;
    const list = isCut ? { ...cut(plants, limit), position } : { plants, next: undefined, position };
    if (this.#generation.isCurrent(generation)) this.#cache.set(query, list);
    return list;
  }

  /** A list of any length, as of one position: a snapshot, and what the tail holds of the owner now. */
  async #long(query: ListQuery): Promise<Listing> {
    const { snapshot, entries, position } = await this.#opened(query);
    return openListing(snapshot, entries, position, query);
  }

  /** A snapshot and the owner's entries of the tail, which is held on to no longer than it takes to copy them. */
  async #opened({ owner, after }: ListQuery): Promise<{ snapshot: Snapshot; entries: TailEntry[]; position: number }> {
    const pin = this.#tail.pin();
    try {
      const snapshot = await this.#owners.open(owner, () => this.#store.snapshot());
      try {
        await this.#follower.reachCheckpoint(snapshot.position);
        return { snapshot, entries: this.#tail.ownedBy(owner, after), position: this.#tail.head.position };
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
function cut(plants: readonly PlantRow[], limit: number): Omit<ShortList, 'position'> {
  return { plants: plants.slice(0, limit), next: plants[limit - 1]!.id };
}
