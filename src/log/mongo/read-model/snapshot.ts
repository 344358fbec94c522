import type { Db, Document, Timestamp } from 'mongodb';
import { withId } from '../../../domain/plant.ts';
import type { Semaphore } from '../../../semaphore.ts';
import { batches, type Page } from '../../batches.ts';
import type { OwnedRow, PlantRow, Snapshot, Standing } from '../../store.ts';
import { COMMAND_LIMIT, withCallLimit } from '../connection/client.ts';
import { after, FOUND_ROWS, type FoundRows, firstRowsStages, ownedBy, pageOf } from './rows.ts';

/**
 * The read model at one moment of the replica set. The server keeps every moment for some minutes (parameter
 * minSnapshotHistoryWindowInSeconds, 300 by default), with or without readers. So an open snapshot is only a timestamp:
 * any number may be open, and a failover does not end them.
 */
export class MongoSnapshot implements Snapshot {
  readonly position: number | undefined;
  readonly upTo: number;
  readonly #db: Db;
  readonly #moment: Timestamp;
  readonly #reads: Semaphore;
  #closed = false;

  /** `moment`: a moment at which the read model stands there. Undefined: its checkpoint is gone. `reads` bounds the reads of an owner's rows. */
  constructor(db: Db, standing: Standing | undefined, moment: Timestamp, reads: Semaphore) {
    this.#db = db;
    this.position = standing?.checkpoint;
    this.upTo = standing?.upTo ?? 0;
    this.#moment = moment;
    this.#reads = reads;
  }

  list(owner: string, start: bigint | undefined): AsyncIterable<PlantRow[]> {
    return batches(async (last: PlantRow | undefined, limit) => {
      using _permit = await this.#reads.acquire(owner);
      const { rows, whole } = await this.#find(ownedBy(owner, last?.id ?? start), limit);
      return { rows: rows.map((row) => withId(row.id, row)), whole };
    });
  }

  all(): AsyncIterable<OwnedRow[]> {
    return batches((last: OwnedRow | undefined, limit) => this.#find(after(last), limit));
  }

  async #find(filter: Document, limit: number): Promise<Page<OwnedRow>> {
    const aggregate = {
      aggregate: 'plants',
      pipeline: firstRowsStages(filter, limit),
      cursor: {},
      readConcern: { level: 'snapshot', atClusterTime: this.#moment },
      maxTimeMS: COMMAND_LIMIT,
    };
    const [found] = this.#closed ? [] : await withCallLimit(this.#db.runCursorCommand(aggregate, FOUND_ROWS).toArray());
    if (this.#closed) throw new Error('the snapshot is closed');
    return pageOf(found as FoundRows | undefined, limit);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }
}
