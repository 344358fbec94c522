import { LRUCache } from 'lru-cache';
import { type LoggedEvent, plantEventOf } from '../event/event.ts';
import type { Store } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import type { Tail } from '../tail/tail.ts';
import type { Generation } from '../view/generation.ts';

/** Most owners whose ids are known, and most that are remembered as candidates. */
const OWNERS = 10_000;
/** Most ids known of all owners together: some 30 MB. */
const IDS = 1_000_000;
/** An owner with more plants than this is not worth reading them all. */
const LEARNED_ROWS = 10_000;
/** An owner with a longer name is not remembered, so that names take some MB at most. */
const LONGEST_NAME = 512;
/** Rows of one read. */
const PAGE = 1_000;

/** An id as a number where that is exact, which takes a fraction of the memory. */
type CompactId = number | bigint;

/**
 * Knows which plants of busy owners are there, so that their commands are decided without a read. It holds the ids of all plants of
 * an owner, who is learned in the background when plants are looked up for the second time, and kept at the tail's head from then
 * on.
 */
export class KnownKeys {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #follower: Follower;
  readonly #generation: Generation;
  readonly #known = new LRUCache<string, Set<CompactId>>({
    max: OWNERS,
    dispose: (ids) => {
      this.#size -= ids.size;
    },
  });
  /** True: looked up once. False: has too many plants. */
  readonly #candidates = new LRUCache<string, boolean>({ max: OWNERS });
  #size = 0;
  #learning: Promise<void> | undefined;
  #closed = false;

  constructor(store: Store, tail: Tail, follower: Follower, generation: Generation) {
    this.#store = store;
    this.#tail = tail;
    this.#follower = follower;
    this.#generation = generation;
    generation.onReplaced(() => this.#known.clear());
    tail.onExtended((news) => this.#take(news));
  }

  /** Whether there is such a plant at the tail's head; undefined: not known. The caller has asked Generation.look. */
  isThere(owner: string, id: bigint): boolean | undefined {
    return this.#known.get(owner)?.has(compact(id));
  }

  /** Hears that plants of these owners have to be looked up. */
  lookedUp(owners: Iterable<string>): void {
    for (const owner of owners) {
      if (this.#known.has(owner) || owner.length > LONGEST_NAME) continue;
      const candidate = this.#candidates.get(owner);
      if (candidate === undefined) this.#candidates.set(owner, true);
      else if (candidate && this.#learning === undefined && !this.#closed) this.#learning = this.#learn(owner);
    }
  }

  /** Resolves when it no longer reads from the store. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#learning;
  }

  async #learn(owner: string): Promise<void> {
    const pin = this.#tail.pin();
    try {
      const read = await this.#idsOf(owner);
      this.#candidates.set(owner, read !== undefined);
      if (read === undefined || !this.#generation.isCurrent(read.generation)) return;
      const { ids } = read;
      // From here on without a pause: the ids are those at the head, and every event after it will be told.
      for (const { id, state } of this.#tail.ownedBy(owner, undefined))
        if (state === undefined) ids.delete(compact(id));
        else ids.add(compact(id));
      this.#size += ids.size;
      this.#known.set(owner, ids);
      this.#shrink();
    } catch {
      // Whoever needs the store hears of its faults; here nothing is known, as before.
    } finally {
      pin.release();
      this.#learning = undefined;
    }
  }

  /** The ids of an owner's rows, each as of some moment since the tail was pinned, and the oldest generation of them; undefined: too many. */
  async #idsOf(owner: string): Promise<{ ids: Set<CompactId>; generation: number } | undefined> {
    const ids = new Set<CompactId>();
    let oldest = Number.POSITIVE_INFINITY;
    for (let after: bigint | undefined; ids.size <= LEARNED_ROWS && !this.#closed; ) {
      const { rows, checkpoint, generation } = await this.#store.list(owner, after, PAGE);
      this.#generation.heard(generation);
      oldest = Math.min(oldest, generation);
      await this.#follower.reachCheckpoint(checkpoint);
      for (const { id } of rows) ids.add(compact(id));
      if (rows.length < PAGE) return { ids, generation: oldest };
      after = rows.at(-1)!.id;
    }
    return undefined;
  }

  #take(news: readonly LoggedEvent[]): void {
    for (const logged of news) {
      if (logged.type === 'OwnerErased') {
        this.#known.clear();
        this.#candidates.clear();
      }
      const event = plantEventOf(logged);
      const ids = event && this.#known.peek(event.owner);
      if (event === undefined || ids === undefined) continue;
      const before = ids.size;
      if (event.type === 'PlantAdded') ids.add(compact(event.plantId));
      else ids.delete(compact(event.plantId));
      this.#size += ids.size - before;
    }
    this.#shrink();
  }

  #shrink(): void {
    while (this.#size > IDS) this.#known.pop();
  }
}

const compact = (id: bigint): CompactId => {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
};
