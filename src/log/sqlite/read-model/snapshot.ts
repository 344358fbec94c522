import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { lostCheckpoint, type Rows, type Snapshot, SnapshotEndedError } from '../../store.ts';
import { tableBatches } from '../batches.ts';
import { prepareQuery } from '../connection.ts';
import type { ReadQueue } from '../read-queue.ts';
import { PLANTS_CHECKPOINT } from '../schema.ts';
import { allPlants, plantsIn, SELECT_PLANTS } from './rows.ts';

/** Page cache in KiB of a connection that reads each page once. Small, since many may be open. */
const CACHE_KIB = 256;

/** The checkpoint of the read model, `upTo`, and the generation; see Rows. */
export const SELECT_CHECKPOINT = `SELECT position, max(position, ifnull(up_to, 0)), generation FROM checkpoints
  WHERE name = ${PLANTS_CHECKPOINT}`;

/** A snapshot that others can end. */
export interface SqliteSnapshot extends Snapshot {
  /** Closes it under its reader, whose next read rejects with SnapshotEndedError. */
  end(): void;
}

/** The read model at one instant: a read transaction on its own connection, which is closed with it. */
export function sqliteSnapshot(
  db: DatabaseSync,
  reads: ReadQueue,
  onClose: (closed: SqliteSnapshot) => void,
): SqliteSnapshot {
  let isEnded = false;

  async function* untilEnded<T>(rows: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* rows;
    } catch (error) {
      throw isEnded ? new SnapshotEndedError() : error;
    }
  }

  try {
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; BEGIN`);
    // The first read fixes the instant, not BEGIN.
    const [position, upTo = 0] = numbersIn(prepareQuery(db, SELECT_CHECKPOINT));
    const plants = prepareQuery(db, SELECT_PLANTS);
    return {
      position,
      upTo,
      list: (owner, after) => untilEnded(tableBatches(reads, owner, plantsIn(plants, owner, after))),
      all: () => untilEnded(allPlants(db, reads)),
      end() {
        isEnded = true;
        void this.close();
      },
      async close() {
        if (!db.isOpen) return;
        db.close();
        onClose(this);
      },
    };
  } catch (error) {
    db.close();
    throw error;
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
