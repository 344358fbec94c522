import type { PlantState } from '../../domain/decider.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import type { PlantKey } from '../../domain/plant.ts';
import { OVERLOADED, type Permit, Semaphore } from '../../semaphore.ts';
import { shareCalls } from '../../time/share-calls.ts';
import type { Page } from '../batches.ts';
import { listBytes, SHORT_LIST } from '../row-size.ts';
import { lostCheckpoint, type PlantRow, type Snapshot } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import { unavailable } from '../unavailable.ts';
import { type ListCache, queryKey } from './list-cache.ts';
import { type Listing, type ListQuery, Merge, openListing, type ShortList } from './listing.ts';

/**
 * The lists of plants at the log's head: from the cache, or from rows of the read model with the tail on top.
 *
 * The merge is exact although the projector moves during the read. The tail is pinned at a checkpoint known before the
 * read, and it reaches at least `upTo` after the read. So a key with an event in between has that event in the tail,
 * and the row of any other key is the same at all times. This also holds for several consecutive reads. Of an owner who
 * was erased by an event in the tail, no row counts. When the tail is restarted meanwhile, or the rows are repaired, a
 * list begins again.
 */
export class Lists {
  readonly #follower: Follower;
  readonly #cache: ListCache;
  readonly #longLists: Semaphore;
  /** The keys of the next read of rows by key. */
  #keys: PlantKey[] = [];
  readonly #rowsOfKeys = shareCalls(() => {
    const keys = this.#keys;
    this.#keys = [];
    return this.#follower.store.get(keys);
  });
  /** Reads that have not merged yet, by query. */
  readonly #reading = new Map<string, Promise<ShortList | undefined>>();

  /** `long`: most long lists that one owner may read at a time. */
  constructor(follower: Follower, cache: ListCache, long: number) {
    this.#follower = follower;
    this.#cache = cache;
    const permits = follower.store.maxSnapshots ?? Number.MAX_SAFE_INTEGER;
    this.#longLists = new Semaphore({ permits, share: long, maxWaiting: 0 });
    follower.tail.onRowsOutdated(() => cache.clear());
    follower.tail.onExtended((news) => cache.extended(news));
  }

  /**
   * The plants of an owner as of one position that includes everything acknowledged before. Rejects with
   * STORE_UNAVAILABLE; with OVERLOADED if too many long lists are read, or TOO_MANY_LISTS if they are this owner's.
   */
  async list(query: ListQuery): Promise<Listing> {
    try {
      await this.#follower.sync();
      // After the read of the head, however long that took.
      await this.#follower.revalidateRows();
      if (query.limit === 0) return { plants: [], next: undefined, position: this.#follower.tail.head.position };
      const list = this.#cache.get(query) ?? this.#refreshed(query);
      if (list !== undefined) return list;
      this.#cache.missed();
      return (await this.#short(query)) ?? (await this.#long(query));
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** The plant of a key, if there is one, with all that was acknowledged before. Rejects with STORE_UNAVAILABLE. */
  async get(key: PlantKey): Promise<PlantState> {
    const { tail } = this.#follower;
    const read = async (base: number) => {
      const index = this.#keys.push(key) - 1;
      const { rows, ...standing } = await this.#rowsOfKeys();
      const found = await this.#follower.reachCheckpoint({ row: rows[index], ...standing }, base);
      await this.#follower.revalidateRows();
      return found;
    };
    try {
      await this.#follower.sync();
      await this.#follower.revalidateRows();
      if (tail.memtable.knows(key)) return tail.memtable.stateOf(key);
      return await tail.pinned(read, ({ row }) => (tail.memtable.knows(key) ? tail.memtable.stateOf(key) : row));
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** A cached list brought up to the head. Undefined unless the tail still holds every later event. */
  #refreshed(query: ListQuery): ShortList | undefined {
    const earlier = this.#cache.earlier(query);
    if (earlier === undefined || earlier.exactTo < this.#follower.tail.base) return undefined;
    const { plants, next } = earlier.list;
    if (next !== undefined || listBytes(plants) > SHORT_LIST) return undefined;
    return this.#atHead(query, plants, true);
  }

  /** A list from plain reads, as of their end, which concurrent calls share. Undefined when it is too long. */
  #short(query: ListQuery): Promise<ShortList | undefined> {
    const key = queryKey(query);
    const reading = this.#reading.get(key);
    if (reading !== undefined) return reading;
    const list = this.#follower.tail.pinned(
      (base) => this.#firstRows(query, base),
      ({ rows, whole }) => {
        // In the same step as the merge: a caller from here on may know of a later event.
        this.#reading.delete(key);
        return this.#atHead(query, rows, whole);
      },
    );
    this.#reading.set(key, list);
    list.catch(() => this.#reading.delete(key));
    return list;
  }

  /** An owner's rows: all, or as many as the list needs, or more than a list in memory may have. */
  async #firstRows({ owner, after, limit }: ListQuery, base: number): Promise<Page<PlantRow>> {
    // Each entry of the tail may remove one row. One more row shows whether the limit cuts the list.
    const wanted = (limit ?? Number.POSITIVE_INFINITY) + 1 + this.#follower.tail.memtable.ownedBy(owner, after).length;
    const known: PlantRow[] = [];
    for (;;) {
      const last = known.at(-1)?.id ?? after;
      const read = await this.#follower.store.list(owner, last, wanted);
      const { rows, whole } = await this.#follower.reachCheckpoint(read, base);
      known.push(...rows);
      if (!whole && known.length < wanted && listBytes(known) <= SHORT_LIST) continue;
      // After the reads, however long they took: the owner may have been erased meanwhile.
      await this.#follower.revalidateRows();
      return { rows: known, whole };
    }
  }

  /** The list at the tail's head, from all rows, or from the first ones if they suffice. */
  #atHead(query: ListQuery, found: readonly PlantRow[], all: boolean): ShortList | undefined {
    const { owner, after, limit } = query;
    const hasEnded = this.#follower.tail.memtable.hasEnded(owner);
    const [rows, whole] = hasEnded ? [[], true] : [found, all];
    if (!whole && rows.length <= (limit ?? Number.POSITIVE_INFINITY)) return undefined;
    const merge = new Merge(this.#follower.tail.memtable.ownedBy(owner, after));
    const known = merge.rows(rows);
    const plants = whole ? known.concat(merge.rest()) : known;
    const isCut = limit !== undefined && plants.length > limit;
    if (!isCut && !whole) return undefined;
    const { position } = this.#follower.tail.head;
    const list = isCut
      ? { plants: plants.slice(0, limit), next: plants[limit - 1]!.id, position }
      : { plants, next: undefined, position };
    this.#cache.set(query, list);
    return list;
  }

  /** Few owners cannot use up all open snapshots. */
  async #permitFor(owner: string): Promise<Permit> {
    try {
      return await this.#longLists.acquire(owner);
    } catch (error) {
      if (error === OVERLOADED)
        throw new PlantStoreError('OVERLOADED', 'too many long lists are being read; try again');
      throw new PlantStoreError(
        'TOO_MANY_LISTS',
        'too many long lists of this owner are being read; read them to their end, or in pages with limit',
      );
    }
  }

  /**
   * A list of any length as of one position: a snapshot, and the owner's current entries in the tail. Of an owner who
   * was erased meanwhile, these are the whole list, a short one.
   */
  async #long(query: ListQuery): Promise<Listing> {
    const { store, tail } = this.#follower;
    using held = new DisposableStack();
    held.use(await this.#permitFor(query.owner));
    // Before the tail is pinned, which keeps it from forgetting events, and so writes from going on.
    await store.waitBeforeLongRead();
    let snapshot: Snapshot | undefined;
    const read = async (base: number) => {
      await snapshot?.close();
      snapshot = await store.snapshot();
      const { position: checkpoint, upTo } = snapshot;
      if (checkpoint === undefined) throw lostCheckpoint();
      await this.#follower.reachCheckpoint({ checkpoint, upTo }, base);
      return snapshot;
    };
    let isOpen = false;
    try {
      return await tail.pinned(read, (opened) => {
        isOpen = !tail.memtable.hasEnded(query.owner);
        return isOpen ? openListing(this.#follower, opened, held.move(), query) : this.#atHead(query, [], true)!;
      });
    } finally {
      if (!isOpen) await snapshot?.close();
    }
  }
}
