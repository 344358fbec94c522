import { LRUCache } from 'lru-cache';
import { leavesPlant } from '../../domain/events.ts';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Follower } from '../tail/follower.ts';

/** Most known ids of all owners together: about 30 MB. */
const MAX_IDS = 1_000_000;
/** Most plants of a learned owner. A larger owner is not worth the reads. */
const MAX_LEARNED_ROWS = 10_000;
/** Longest name of a remembered owner, which limits the memory for names to a few MB. */
const MAX_NAME_LENGTH = 512;
const PAGE_ROWS = 1_000;

/** An id as a number where that is exact. A number takes a fraction of a bigint's memory. */
type CompactId = number | bigint;

interface Known {
  readonly ids: Set<CompactId>;
}

/**
 * Knows which plants of busy owners exist, so that their commands need no read. It holds all plant ids of an owner. It
 * learns an owner in the background at the second lookup, and then keeps the ids current with the tail's head.
 */
export class KnownPlants {
  readonly #follower: Follower;
  readonly #known: LRUCache<string, Known>;
  /** True: looked up once. False: has too many plants. */
  readonly #candidates: LRUCache<string, boolean>;
  #learning: Promise<void> | undefined;
  #closed = false;

  /** `owners`: most owners whose ids are known, and most remembered candidates. */
  constructor(follower: Follower, owners: number) {
    this.#follower = follower;
    this.#candidates = new LRUCache({ max: owners });
    this.#known = new LRUCache({ max: owners, maxSize: MAX_IDS });
    follower.tail.onRowsOutdated(() => {
      this.#known.clear();
      // An owner may have been erased whom no event names any more.
      this.#candidates.clear();
    });
    follower.tail.onExtended((news) => this.#take(news));
  }

  /**
   * Whether the plant exists at the tail's head. Undefined: not known. The caller uses it if, once it has awaited
   * Follower.revalidateRows, the rows were not outdated meanwhile.
   */
  isThere(owner: string, id: bigint): boolean | undefined {
    return this.#known.get(owner)?.ids.has(compact(id));
  }

  /** Records that plants of these owners had to be looked up. */
  lookedUp(owners: Iterable<string>): void {
    for (const owner of owners) {
      if (this.#known.has(owner) || owner.length > MAX_NAME_LENGTH) continue;
      const candidate = this.#candidates.get(owner);
      if (candidate === undefined) this.#candidates.set(owner, true);
      else if (candidate && this.#learning === undefined && !this.#closed) this.#learning = this.#learn(owner);
    }
  }

  /** Resolves when it reads no more from the store. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#learning;
  }

  async #learn(owner: string): Promise<void> {
    try {
      await this.#follower.tail.pinned(
        (base) => this.#idsOf(owner, base),
        (read) => this.#learned(owner, read),
      );
    } catch {
      // The owner stays unknown. Callers that need the store get its faults themselves.
    } finally {
      this.#learning = undefined;
    }
  }

  /**
   * Takes the ids of rows, and what the tail says of them: they are those at the head, and #take sees every later
   * event.
   */
  #learned(owner: string, ids: Set<CompactId> | undefined): void {
    // The name of an owner who was erased meanwhile is not remembered.
    if (this.#follower.tail.memtable.hasEnded(owner)) return;
    this.#candidates.set(owner, ids !== undefined);
    if (ids === undefined) return;
    for (const { id, state } of this.#follower.tail.memtable.ownedBy(owner, undefined))
      if (state === undefined) ids.delete(compact(id));
      else ids.add(compact(id));
    this.#keep(owner, ids);
  }

  /** The ids of an owner's rows, each as of some moment since the tail was pinned. Undefined: too many rows. */
  async #idsOf(owner: string, base: number): Promise<Set<CompactId> | undefined> {
    const ids = new Set<CompactId>();
    for (let after: bigint | undefined; ids.size <= MAX_LEARNED_ROWS && !this.#closed; ) {
      const read = await this.#follower.store.list(owner, after, PAGE_ROWS);
      const { rows, whole } = await this.#follower.reachCheckpoint(read, base);
      for (const { id } of rows) ids.add(compact(id));
      if (whole) return ids;
      after = rows.at(-1)!.id;
    }
    return undefined;
  }

  #take(news: readonly LoggedEvent[]): void {
    for (const logged of news) {
      if (logged.erases !== undefined) {
        this.#known.delete(logged.erases.owner);
        this.#candidates.delete(logged.erases.owner);
      }
      const event = plantEventOf(logged);
      const known = event && this.#known.peek(event.owner);
      if (event === undefined || known === undefined) continue;
      if (leavesPlant(event)) known.ids.add(compact(event.plantId));
      else known.ids.delete(compact(event.plantId));
      this.#keep(event.owner, known.ids);
    }
  }

  /**
   * The cache counts the ids of a new value, and evicts others, or this one, if they are too many. It would not count
   * the same object again.
   */
  #keep(owner: string, ids: Set<CompactId>): void {
    this.#known.set(owner, { ids }, { size: Math.max(ids.size, 1) });
  }
}

const compact = (id: bigint): CompactId => {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
};
