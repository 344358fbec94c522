import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  lostCheckpoint,
  type OwnedRow,
  type PlantRow,
  type Rows,
  type Snapshot,
  SnapshotEndedError,
} from '../../store.ts';
import { tableBatches } from '../batches.ts';
import { prepareQuery } from '../connection.ts';
import type { ReadQueue } from '../read-queue.ts';
import { SELECT_CHECKPOINT, SELECT_PLANTS } from '../statements.ts';
import { allPlants, plantsIn } from './rows.ts';

/** Page cache in KiB of a connection that reads each page once. Small, since many may be open. */
const CACHE = 256;

/** The read model at one instant: a read transaction on its own connection. */
export class SqliteSnapshot implements Snapshot {
  readonly position: number | undefined;
  readonly upTo: number;
  readonly #db: DatabaseSync;
  readonly #reads: ReadQueue;
  readonly #plants: StatementSync;
  readonly #onClose: (closed: SqliteSnapshot) => void;
  #isEnded = false;

  /** `db` is closed with it. */
  constructor(db: DatabaseSync, reads: ReadQueue, onClose: (closed: SqliteSnapshot) => void) {
    this.#reads = reads;
    this.#onClose = onClose;
    this.#db = db;
    try {
      this.#db.exec(`PRAGMA cache_size = -${CACHE}; BEGIN`);
      // The first read fixes the instant, not BEGIN.
      const [position, upTo = 0] = numbersIn(prepareQuery(this.#db, SELECT_CHECKPOINT));
      this.position = position;
      this.upTo = upTo;
      this.#plants = prepareQuery(this.#db, SELECT_PLANTS);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  list(owner: string, after: bigint | undefined): AsyncIterable<PlantRow[]> {
    return this.#untilEnded(tableBatches(this.#reads, owner, plantsIn(this.#plants, owner), after));
  }

  all(): AsyncIterable<OwnedRow[]> {
    return this.#untilEnded(allPlants(this.#db, this.#reads));
  }

  async *#untilEnded<T>(rows: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* rows;
    } catch (error) {
      throw this.#isEnded ? new SnapshotEndedError() : error;
    }
  }

  /** Closes it under its reader, whose next read rejects with SnapshotEndedError. */
  end(): void {
    this.#isEnded = true;
    void this.close();
  }

  async close(): Promise<void> {
    if (!this.#db.isOpen) return;
    this.#db.close();
    this.#onClose(this);
  }
}

/** The numbers that a prepared query over `checkpoints` reads. None: the checkpoint is gone. */
const numbersIn = (query: StatementSync): number[] =>
  ((query.get() as unknown as bigint[] | undefined) ?? []).map(Number);

/** Where the read model stands, by a query for SELECT_CHECKPOINT. Throws BrokenReadModelError when it is gone. */
export function standingOf(query: StatementSync): Omit<Rows<never>, 'rows'> {
  const [checkpoint, upTo, generation] = numbersIn(query);
  if (checkpoint === undefined || upTo === undefined || generation === undefined) throw lostCheckpoint();
  return { checkpoint, upTo, generation };
}
