import { PlantStoreError } from '../../domain/errors.ts';
import { withId } from '../../domain/plant.ts';
import type { Permit } from '../../semaphore.ts';
import { clearTimer, setTimer } from '../../time/host.ts';
import type { PlantRow, Snapshot } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import type { TailEntry } from '../tail/memtable.ts';
import { unavailable } from '../unavailable.ts';

/** What to list. */
export interface ListQuery {
  readonly owner: string;
  /** Only ids above this one. */
  readonly after: bigint | undefined;
  /** Most plants. Undefined: all. */
  readonly limit: number | undefined;
}

/** A list as of one position, in memory. It never changes and may be answered more than once. */
export interface ShortList {
  readonly plants: readonly PlantRow[];
  /** The last listed id when a limit cut the list. Undefined: the list is complete. */
  readonly next: bigint | undefined;
  /** A position at which the list is exact. It may be exact at later ones too. */
  readonly position: number;
}

/** A list as of one position. A short one is an array. A long one comes in batches that are read on demand. */
export type Listing = ShortList | LongList;

/** A list that is too long for memory, for one reader. */
export interface LongList extends Omit<ShortList, 'plants'> {
  readonly plants: AsyncIterableIterator<readonly PlantRow[]>;
  /** Await it before a part of a batch is told, if it is not the first. Rejects once the owner is erased. */
  confirm(): Promise<void>;
}

/** Whether a list comes in batches. */
export const isLong = (list: Listing): list is LongList => 'confirm' in list;

/** Milliseconds for which one list may hold a snapshot. By default MongoDB keeps snapshots for 300 s. */
const SNAPSHOT_LIMIT = 240_000;

/**
 * A list of any length as of the tail's head, from a snapshot, for which the tail is pinned, and the owner's entries in
 * the tail. Its memory is bounded by one batch and those entries.
 *
 * It owns the snapshot, and the permit, from now on. It gives them back at the end, when the reader stops, when it
 * rejects, and at the latest SNAPSHOT_LIMIT from now. The reader then gets an error, never a shortened list that looks
 * complete. So does a reader whose owner is erased meanwhile.
 */
export async function openListing(
  follower: Follower,
  snapshot: Snapshot,
  permit: Permit,
  { owner, after, limit }: ListQuery,
): Promise<LongList> {
  const { position } = follower.tail.head;
  const entries = follower.tail.memtable.ownedBy(owner, after);
  const guard = guardOf(follower, owner);
  const close = () => {
    guard.close();
    return snapshot.close().finally(() => permit[Symbol.dispose]());
  };
  const batches = () => merged(snapshot.list(owner, after), new Merge(entries));
  let next: bigint | undefined;
  const plants = read(batches, { confirm: guard.confirm, close }, limit, (cut) => {
    next = cut;
  });
  // Once it has begun, a return closes it, before the first batch too.
  await plants.next();
  const confirm = () =>
    guard.confirm().catch((error) => {
      throw unavailable(error);
    });
  return { plants, next, position, confirm };
}

/** The error of a long list that may show what was erased. Whom an erasure erased is not known once it is complete. */
const ERASED = new PlantStoreError(
  'STORE_UNAVAILABLE',
  'an owner was erased while this list was read, so it may show plants that are gone; begin it again',
);

/**
 * Notices an erasure of an owner from now on, by whichever instance; Follower.revalidateRows says how soon. An
 * OwnerErased whose erasure is complete counts too: it may have been of this owner.
 */
function guardOf(follower: Follower, owner: string) {
  let isOver = false;
  const close = follower.tail.onSeen((news) => {
    isOver ||= news.some(({ type, erases }) => type === 'OwnerErased' && (erases?.owner ?? owner) === owner);
  });
  const confirm = async () => {
    await follower.revalidateRows();
    if (isOver) throw ERASED;
  };
  return { confirm, close };
}

/**
 * An empty batch, and then those of the list. Before the empty one it calls back with the id at which the limit cuts
 * the list.
 */
async function* read(
  batches: () => AsyncIterable<readonly PlantRow[]>,
  { confirm, close }: Readonly<Record<'confirm' | 'close', () => Promise<void>>>,
  limit: number | undefined,
  onCut: (next: bigint) => void,
): AsyncGenerator<readonly PlantRow[]> {
  let isLate = false;
  const timer = setTimer(() => {
    isLate = true;
    void close();
  }, SNAPSHOT_LIMIT);
  timer.unref();
  try {
    const next = limit === undefined ? undefined : await lastOf(batches(), limit);
    if (next !== undefined) onCut(next);
    yield [];
    for await (const batch of next === undefined ? batches() : upTo(batches(), next)) {
      await confirm();
      yield batch;
    }
  } catch (error) {
    throw isLate ? tooLate() : unavailable(error);
  } finally {
    clearTimer(timer);
    await close();
  }
}

async function* merged(batches: AsyncIterable<PlantRow[]>, merge: Merge): AsyncGenerator<readonly PlantRow[]> {
  for await (const batch of batches) yield merge.rows(batch);
  yield merge.rest();
}

/** The id at which a limit cuts the list. Undefined when the limit does not cut it. */
async function lastOf(batches: AsyncIterable<readonly PlantRow[]>, limit: number): Promise<bigint | undefined> {
  let seen = 0;
  let last: bigint | undefined;
  for await (const batch of batches) {
    if (seen + batch.length > limit) return seen === limit ? last : batch[limit - seen - 1]!.id;
    seen += batch.length;
    last = batch.at(-1)?.id ?? last;
  }
  return undefined;
}

async function* upTo(batches: AsyncIterable<readonly PlantRow[]>, last: bigint): AsyncGenerator<readonly PlantRow[]> {
  for await (const batch of batches) {
    if (batch.length === 0 || batch.at(-1)!.id < last) {
      yield batch;
      continue;
    }
    yield batch.filter(({ id }) => id <= last);
    return;
  }
}

const tooLate = (): PlantStoreError =>
  new PlantStoreError('OVERLOADED', 'the list took too long to read; read it in pages with limit');

/**
 * Merges rows of the read model with the tail's entries of the same owner, both in ascending id. For a key with an
 * entry, the entry counts; for any other key, the row counts. Takes the rows batch by batch.
 */
export class Merge {
  readonly #entries: readonly TailEntry[];
  #next = 0;

  constructor(entries: readonly TailEntry[]) {
    this.#entries = entries;
  }

  /** The plants up to the batch's last row. */
  rows(batch: readonly PlantRow[]): PlantRow[] {
    if (this.#next === this.#entries.length) return batch as PlantRow[];
    const merged: PlantRow[] = [];
    for (const row of batch) {
      this.#takeBelow(row.id, merged);
      const entry = this.#entries[this.#next];
      if (entry?.id === row.id) this.#take(entry, merged);
      else merged.push(row);
    }
    return merged;
  }

  /** The plants after the last row of all. */
  rest(): PlantRow[] {
    const merged: PlantRow[] = [];
    while (this.#next < this.#entries.length) this.#take(this.#entries[this.#next]!, merged);
    return merged;
  }

  #takeBelow(id: bigint, merged: PlantRow[]): void {
    for (;;) {
      const entry = this.#entries[this.#next];
      if (entry === undefined || entry.id >= id) return;
      this.#take(entry, merged);
    }
  }

  #take({ id, state }: TailEntry, merged: PlantRow[]): void {
    this.#next++;
    if (state !== undefined) merged.push(withId(id, state));
  }
}
