import { PlantStoreError } from '../../domain/errors.ts';
import type { PlantRow, Snapshot } from '../store.ts';
import type { TailEntry } from '../tail/tail.ts';
import { unavailable } from '../unavailable.ts';
import { Merge } from './merge.ts';

/** What to list. */
export interface ListQuery {
  readonly owner: string;
  /** Only ids above this one. */
  readonly after: bigint | undefined;
  /** At most so many plants; undefined: all. */
  readonly limit: number | undefined;
}

/** A list as of one position, in memory. It never changes, and may be answered more than once. */
export interface ShortList {
  readonly plants: readonly PlantRow[];
  /** The last id listed, when a limit cut the list; undefined: the list is whole. */
  readonly next: bigint | undefined;
  /** A position at which it is exact. It may be exact at later ones too. */
  readonly position: number;
}

/** A list as of one position: short ones as an array, long ones in batches that are read as they are taken. */
export type Listing = ShortList | LongList;

/** A list that is too long for the memory, for one reader. */
export interface LongList extends Omit<ShortList, 'plants'> {
  readonly plants: AsyncIterableIterator<readonly PlantRow[]>;
}

/** Most bytes that a plant takes beside its text: its row, its message, and what JSON and protobuf put around its fields. */
const PLANT_OVERHEAD = 320;
/**
 * Most bytes that a UTF-16 code unit takes in a string, in JSON and in protobuf together: 1 + 6 + 1 of a control character, which
 * JSON escapes, or 2 + 3 + 3 of any beyond Latin-1.
 */
const BYTES_PER_CODE_UNIT = 8;

/** Most bytes that plants take in memory, with what transports encode them to. */
export function listBytes(plants: readonly PlantRow[]): number {
  let codeUnits = 0;
  for (const { name, tag } of plants) codeUnits += name.length + (tag?.length ?? 0);
  return PLANT_OVERHEAD * plants.length + BYTES_PER_CODE_UNIT * codeUnits;
}

/** Milliseconds for which one list may hold a snapshot. The oldest moment that MongoDB keeps by default is 300 s ago. */
const SNAPSHOT_LIMIT = 240_000;

/**
 * A list of any length from a snapshot and the tail's entries of the owner. Memory is bounded by a batch and those entries. It
 * owns the snapshot from here on: closes it at the end, when the reader stops, when it rejects, and at the latest when its time is
 * up, which runs from now; the reader then gets an error, never a list that ends early as if it were whole.
 * `position`: of the last event that the entries know of.
 */
export async function openListing(
  snapshot: Snapshot,
  entries: readonly TailEntry[],
  position: number,
  query: ListQuery,
): Promise<Listing> {
  const { owner, after, limit } = query;
  const batches = () => merged(snapshot.list(owner, after), new Merge(entries));
  const held = new HeldSnapshot(snapshot);
  try {
    const next = limit === undefined ? undefined : await lastOf(batches(), limit);
    return { plants: new Held(held, next === undefined ? batches() : upTo(batches(), next)), next, position };
  } catch (error) {
    throw await held.failed(error);
  }
}

async function* merged(batches: AsyncIterable<PlantRow[]>, merge: Merge): AsyncGenerator<readonly PlantRow[]> {
  for await (const batch of batches) yield merge.rows(batch);
  yield merge.rest();
}

/** The id at which a limit cuts the list, or undefined when it does not. */
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

/** A snapshot that is closed when its time is up. */
class HeldSnapshot {
  readonly #snapshot: Snapshot;
  readonly #timer: NodeJS.Timeout;
  #late = false;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#timer = setTimeout(() => {
      this.#late = true;
      void this.close();
    }, SNAPSHOT_LIMIT);
    this.#timer.unref();
  }

  /** True once the time was up. */
  get late(): boolean {
    return this.#late;
  }

  close(): Promise<void> {
    clearTimeout(this.#timer);
    return this.#snapshot.close();
  }

  /** Closes it, and gives the error that the reader gets for one that a read met. */
  async failed(error: unknown): Promise<Error> {
    await this.close();
    return this.#late
      ? new PlantStoreError('OVERLOADED', 'the list took too long to read; read it in pages with limit', {
          retryAfter: 1,
        })
      : unavailable(error);
  }
}

/** The batches of a list, and the snapshot they are read from, which is closed at the end and on return. */
class Held implements AsyncIterableIterator<readonly PlantRow[]> {
  readonly #snapshot: HeldSnapshot;
  readonly #batches: AsyncIterator<readonly PlantRow[]>;

  constructor(snapshot: HeldSnapshot, batches: AsyncIterable<readonly PlantRow[]>) {
    this.#snapshot = snapshot;
    this.#batches = batches[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<readonly PlantRow[]>> {
    try {
      if (this.#snapshot.late) throw new Error('closed');
      const result = await this.#batches.next();
      if (result.done === true) await this.#snapshot.close();
      return result;
    } catch (error) {
      throw await this.#snapshot.failed(error);
    }
  }

  async return(): Promise<IteratorResult<readonly PlantRow[]>> {
    await this.#snapshot.close();
    return { done: true, value: undefined };
  }
}
