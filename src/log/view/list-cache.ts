import { LRUCache } from 'lru-cache';
import type { PlantEvent } from '../../domain/events.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import { listBytes } from '../row-size.ts';
import type { ListQuery, ShortList } from './listing.ts';

/** A list that was exact at the tail's head from its read up to a position. */
interface Entry {
  readonly query: ListQuery;
  readonly list: ShortList;
  /** The last position at which the list is known to be exact. Infinite while no later event of its owner has come. */
  exactTo: number;
}

/** Most bytes of a list without its plants: its place in the cache, and the objects around its encoded forms. */
const LIST_OVERHEAD = 2_048;
/** Most lists of an owner that one event is compared with. If there are more, all become inexact. */
const MAX_COMPARED = 64;

/** One list takes at most the cache divided by this, so that a walk through long pages does not evict all others. */
const LIST_DIVISOR = 8;

/**
 * Short lists, each exact at the tail's head. A new event, from any instance, makes the owner's lists inexact. The
 * cache is bounded in bytes and evicts the least recently used list. A bound of 0 keeps nothing.
 */
export class ListCache {
  readonly #lists: LRUCache<string, Entry>;
  readonly #exact = new Map<string, Set<Entry>>();
  readonly #largest: number;
  #hits = 0;
  #misses = 0;

  constructor(bytes: number) {
    this.#largest = bytes / LIST_DIVISOR;
    // A cache without a bound would keep everything.
    this.#lists = new LRUCache({ maxSize: Math.max(bytes, 1), dispose: (entry) => this.#forget(entry) });
  }

  /** Counters, and size: `bytes` is an upper bound of memory, including the encoded forms of lists. */
  get statistics() {
    const { size, calculatedSize } = this.#lists;
    return { hits: this.#hits, misses: this.#misses, entries: size, bytes: calculatedSize };
  }

  /** The list if it is exact at the tail's head; the same object each time. */
  get(query: ListQuery): ShortList | undefined {
    const entry = this.#lists.get(queryKey(query));
    if (entry?.exactTo !== Number.POSITIVE_INFINITY) return undefined;
    this.#hits++;
    return entry.list;
  }

  /** The list as it was before later events of its owner, if the cache holds it. */
  earlier(query: ListQuery): Readonly<Entry> | undefined {
    return this.#lists.peek(queryKey(query));
  }

  /** Counts a list that was not answered from memory. */
  missed(): void {
    this.#misses++;
  }

  /** Stores a list that is exact at the tail's head, in place of the previous one; not if it is too large. */
  set(query: ListQuery, list: ShortList): void {
    // The owner's name is in the query, in the list's key, and in the key of the owner's lists.
    const size = LIST_OVERHEAD + 6 * query.owner.length + listBytes(list.plants);
    if (size > this.#largest) {
      this.#lists.delete(queryKey(query));
      return;
    }
    const { owner } = query;
    const entry: Entry = { query, list, exactTo: Number.POSITIVE_INFINITY };
    this.#lists.set(queryKey(query), entry, { size });
    const exact = this.#exact.get(owner);
    if (exact === undefined) this.#exact.set(owner, new Set([entry]));
    else exact.add(entry);
  }

  /** Takes events that follow the tail's head, in the same step in which the head moves. */
  extended(events: readonly LoggedEvent[]): void {
    for (const logged of events) {
      const { position } = logged;
      if (logged.type === 'OwnerErased') this.clear();
      const event = plantEventOf(logged);
      const exact = event && this.#exact.get(event.owner);
      if (event === undefined || exact === undefined) continue;
      const isFew = exact.size <= MAX_COMPARED;
      for (const entry of exact) {
        if (isFew && isUnaffectedBy(event, entry)) continue;
        entry.exactTo = position - 1;
        exact.delete(entry);
      }
      if (exact.size === 0) this.#exact.delete(event.owner);
    }
  }

  /** Forgets every list, because their rows were replaced or must not stay in memory. */
  clear(): void {
    this.#lists.clear();
  }

  #forget(entry: Entry): void {
    const exact = this.#exact.get(entry.query.owner);
    if (exact?.delete(entry) === true && exact.size === 0) this.#exact.delete(entry.query.owner);
  }
}

/**
 * Whether an event of the list's owner leaves the list as it is: it concerns a plant before the first requested one, or
 * adds a plant behind the limit that cut the list. A plant deleted behind the limit may have been the only one there.
 */
const isUnaffectedBy = ({ type, plantId }: PlantEvent, { query: { after }, list: { next } }: Entry): boolean =>
  (after !== undefined && plantId <= after) || (type === 'PlantAdded' && next !== undefined && plantId > next);

/** Identifies a query. No two queries have the same key. */
export const queryKey = ({ owner, after, limit }: ListQuery): string => `${after ?? ''},${limit ?? ''},${owner}`;
