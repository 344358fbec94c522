import { PlantStoreError } from '../../domain/errors.ts';
import { textLength, withId } from '../../domain/plant.ts';
import type { Permit } from '../../semaphore.ts';
import { clearTimer, setTimer, type Timer } from '../../time/host.ts';
import type { PlantRow, Snapshot } from '../store.ts';
import type { TailEntry } from '../tail/tail.ts';
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
}

/** Bytes above which a list is streamed from a snapshot: about 2,500 plants with usual names. */
export const SHORT_LIST = 1024 * 1024;

/** Most bytes of a plant without its text: its row, its message, and the JSON and protobuf around its fields. */
const PLANT_OVERHEAD = 320;
/**
 * Most bytes of a UTF-16 code unit in a string, in JSON and in protobuf together: 1 + 6 + 1 for a control character,
 * which JSON escapes, or 2 + 3 + 3 for any character beyond Latin-1.
 */
const BYTES_PER_CODE_UNIT = 8;

/** Most bytes of plants in memory, including their encoded forms. */
export const listBytes = (plants: readonly PlantRow[]): number => bytesOf(plants, BYTES_PER_CODE_UNIT);

/** Most bytes of plants in memory, without the encoded forms of their texts. */
export const rowBytes = (plants: readonly PlantRow[]): number => bytesOf(plants, 2);

function bytesOf(plants: readonly PlantRow[], perCodeUnit: number): number {
  let codeUnits = 0;
  for (const plant of plants) codeUnits += textLength(plant);
  return PLANT_OVERHEAD * plants.length + perCodeUnit * codeUnits;
}

/** Milliseconds for which one list may hold a snapshot. By default MongoDB keeps snapshots for 300 s. */
const SNAPSHOT_LIMIT = 240_000;

/** Tells whether what a long list shows may still be shown. */
export interface Life {
  /** Rejects with SnapshotEndedError once the owner is erased, by whichever instance. Await it after each read. */
  confirm(): Promise<void>;
  /** Call it once the list is closed. */
  close(): void;
}

/** What a list of any length is made of. */
export interface OpenedList {
  readonly snapshot: Snapshot;
  readonly life: Life;
  /** The owner's in the tail. */
  readonly entries: readonly TailEntry[];
  /** That of the last event in the entries. */
  readonly position: number;
}

/**
 * A list of any length from a snapshot and the owner's entries in the tail. Its memory is bounded by one batch and
 * those entries.
 *
 * It owns the snapshot, and the permit, from now on. It gives them back at the end, when the reader stops, when it
 * rejects, and at the latest SNAPSHOT_LIMIT from now. The reader then gets an error, never a shortened list that looks
 * complete. So does a reader whose owner is erased meanwhile.
 */
export async function openListing(
  { snapshot, life, entries, position }: OpenedList,
  permit: Permit,
  { owner, after, limit }: ListQuery,
): Promise<Listing> {
  const batches = () => merged(snapshot.list(owner, after), new Merge(entries));
  const plants = new LongRead(snapshot, life, permit);
  const next = limit === undefined ? undefined : await plants.reading(lastOf(batches(), limit));
  plants.batches = next === undefined ? batches() : upTo(batches(), next);
  return { plants, next, position };
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

/** The batches of a list from a snapshot, which is closed at their end, on return, and when its time is up. */
class LongRead implements AsyncIterableIterator<readonly PlantRow[]> {
  readonly #snapshot: Snapshot;
  readonly #life: Life;
  readonly #permit: Permit;
  readonly #timer: Timer;
  #late = false;
  /** Set before the first of them is asked for. */
  batches: AsyncGenerator<readonly PlantRow[]> | undefined;

  constructor(snapshot: Snapshot, life: Life, permit: Permit) {
    this.#snapshot = snapshot;
    this.#life = life;
    this.#permit = permit;
    this.#timer = setTimer(() => {
      this.#late = true;
      void this.#close();
    }, SNAPSHOT_LIMIT);
    this.#timer.unref();
  }

  /**
   * The result of a read of the snapshot. If it fails, closes the snapshot and rejects with the error for the reader.
   */
  async reading<T>(read: Promise<T>): Promise<T> {
    try {
      return await read;
    } catch (error) {
      await this.#close();
      throw this.#late ? tooLate() : unavailable(error);
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<readonly PlantRow[]>> {
    if (this.#late) throw tooLate();
    const result = await this.reading(this.#next());
    if (result.done === true) await this.#close();
    return result;
  }

  async #next(): Promise<IteratorResult<readonly PlantRow[]>> {
    const result = await this.batches!.next();
    if (result.done !== true) await this.#life.confirm();
    return result;
  }

  async return(): Promise<IteratorResult<readonly PlantRow[]>> {
    await this.#close();
    return { done: true, value: undefined };
  }

  async #close(): Promise<void> {
    clearTimer(this.#timer);
    this.#life.close();
    await this.#snapshot.close().finally(() => this.#permit[Symbol.dispose]());
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
