import { LRUCache } from 'lru-cache';
import type { PlantEvent } from '../../domain/events.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import { type ListQuery, listBytes, type ShortList } from './listing.ts';

/** What a list cache did and holds. */
export interface ListCacheStatistics {
  /** Lists that were answered from memory alone. */
  readonly hits: number;
  /** Lists that had to be read. */
  readonly misses: number;
  /** Lists held. */
  readonly entries: number;
  /** Most memory that they take, in bytes, with what transports encode them to. */
  readonly bytes: number;
}

/** A list that was exact at the tail's head from when it was read up to a position. */
export interface EarlierList {
  readonly list: ShortList;
  readonly position: number;
}

interface Entry {
  readonly query: ListQuery;
  readonly list: ShortList;
  /** The last position at which the list is known to be exact; infinite while no event of its owner has come. */
  exactTo: number;
}

/** Most bytes that a list takes beside its plants: itself, its place in the cache, and the objects around its encoded forms. */
const LIST_OVERHEAD = 2_048;
/** Lists of its owner that an event is compared with; where there are more, it takes it away from all that they are exact. */
const COMPARED = 64;

/** The part of the cache that one list may take, so that a walk through long pages does not push out everybody's lists. */
const LARGEST_PART = 8;

/**
 * Short lists, each exact at the tail's head: what the tail hears of, by whoever it was appended, takes away that the owner's
 * lists are exact. Bounded in bytes; the list that was not asked for the longest goes first. A bound of 0 keeps nothing.
 */
export class ListCache {
  readonly #lists: LRUCache<string, Entry> | undefined;
  /** The exact lists of each owner. */
  readonly #exact = new Map<string, Set<Entry>>();
  readonly #largest: number;
  #hits = 0;
  #misses = 0;

  constructor(bytes: number) {
    this.#largest = bytes / LARGEST_PART;
    if (bytes > 0) this.#lists = new LRUCache({ maxSize: bytes, dispose: (entry) => this.#forget(entry) });
  }

  get statistics(): ListCacheStatistics {
    const { size = 0, calculatedSize = 0 } = this.#lists ?? {};
    return { hits: this.#hits, misses: this.#misses, entries: size, bytes: calculatedSize };
  }

  /** The list, the same object each time, if it is exact at the tail's head. */
  get(query: ListQuery): ShortList | undefined {
    const entry = this.#lists?.get(queryKey(query));
    if (entry?.exactTo !== Number.POSITIVE_INFINITY) return undefined;
    this.#hits++;
    return entry.list;
  }

  /** The list as it was before events of the owner came, if it is held. */
  earlier(query: ListQuery): EarlierList | undefined {
    const entry = this.#lists?.peek(queryKey(query));
    return entry && { list: entry.list, position: entry.exactTo };
  }

  /** Counts a list that was not answered from memory. */
  missed(): void {
    this.#misses++;
  }

  /** Keeps a list that is exact at the tail's head now, in the place of the one before; neither, where it is too large. */
  set(query: ListQuery, list: ShortList): void {
    // The owner's name is in the query, in the key of the list, and in that of the owner's lists.
    const size = LIST_OVERHEAD + 6 * query.owner.length + listBytes(list.plants);
    if (this.#lists === undefined) return;
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

  /** Takes note of events that follow the tail's head, in the same step in which the head moves. */
  extended(events: readonly LoggedEvent[]): void {
    for (const logged of events) {
      const { position } = logged;
      if (logged.type === 'OwnerErased') this.clear();
      const event = plantEventOf(logged);
      const exact = event && this.#exact.get(event.owner);
      if (event === undefined || exact === undefined) continue;
      const isFew = exact.size <= COMPARED;
      for (const entry of exact) {
        if (isFew && isUnaffectedBy(event, entry)) continue;
        entry.exactTo = position - 1;
        exact.delete(entry);
      }
      if (exact.size === 0) this.#exact.delete(event.owner);
    }
  }

  /** Forgets every list: the rows that they were made from are no longer those of the read model, or are to be in no memory. */
  clear(): void {
    this.#lists?.clear();
  }

  #forget(entry: Entry): void {
    const exact = this.#exact.get(entry.query.owner);
    if (exact?.delete(entry) === true && exact.size === 0) this.#exact.delete(entry.query.owner);
  }
}

/**
 * Whether an event of its owner leaves a list as it is: a plant before the first that was asked for, or one added behind the limit
 * that cut the list. One deleted there may have been the only one.
 */
const isUnaffectedBy = ({ type, plantId }: PlantEvent, { query: { after }, list: { next } }: Entry): boolean =>
  (after !== undefined && plantId <= after) || (type === 'PlantAdded' && next !== undefined && plantId > next);

/** Names a query: no two have the same. */
export const queryKey = ({ owner, after, limit }: ListQuery): string => `${after ?? ''},${limit ?? ''},${owner}`;
