import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { lostCheckpoint, type OwnedRow, type PlantRow, type Snapshot } from '../../store.ts';
import { batches } from '../batches.ts';
import { openReader, prepareQuery } from '../connection.ts';
import type { ReadQueue } from '../read-queue.ts';
import { PLANTS_CHECKPOINT } from '../schema.ts';
import { SELECT_CHECKPOINT, SELECT_PLANTS } from '../statements.ts';
import { allPlants } from './all-plants.ts';
import { plantsIn } from './rows.ts';

/** Page cache in KiB of a connection that reads each page once. Small, since many may be open. */
const CACHE = 256;

/** The read model at one instant: a read transaction on its own connection. */
export class SqliteSnapshot implements Snapshot {
  readonly position: number | undefined;
  readonly #db: DatabaseSync;
  readonly #reads: ReadQueue;
  readonly #plants: StatementSync;
  readonly #onClose: (closed: SqliteSnapshot) => void;

  constructor(path: string, reads: ReadQueue, onClose: (closed: SqliteSnapshot) => void) {
    this.#reads = reads;
    this.#onClose = onClose;
    this.#db = openReader(path);
    try {
      this.#db.exec(`PRAGMA cache_size = -${CACHE}; BEGIN`);
      // The first read fixes the instant, not BEGIN.
      this.position = checkpointIn(prepareQuery(this.#db, SELECT_CHECKPOINT));
      this.#plants = prepareQuery(this.#db, SELECT_PLANTS);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  list(owner: string, after: bigint | undefined): AsyncIterable<PlantRow[]> {
    return batches(this.#reads, owner, plantsIn(this.#plants, owner), after);
  }

  all(): AsyncIterable<OwnedRow[]> {
    return allPlants(this.#db, this.#reads);
  }

  async close(): Promise<void> {
    if (!this.#db.isOpen) return;
    this.#db.close();
    this.#onClose(this);
  }
}

/** The number that a prepared query over `checkpoints` reads: the checkpoint or the generation. Undefined: it is gone. */
function checkpointIn(query: StatementSync): number | undefined {
  const row = query.get(PLANTS_CHECKPOINT) as [bigint] | undefined;
  return row === undefined ? undefined : Number(row[0]);
}

/** The same. Throws BrokenReadModelError when it is gone. */
export function checkpointOf(query: StatementSync): number {
  const found = checkpointIn(query);
  if (found === undefined) throw lostCheckpoint();
  return found;
}
