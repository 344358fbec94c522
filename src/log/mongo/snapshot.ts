import type { Db, Document, Timestamp } from 'mongodb';
import type { OwnedRow, PlantRow, Snapshot } from '../store.ts';
import { BATCH, batches } from './batches.ts';
import { BSON, COMMAND_LIMIT } from './client.ts';
import { type PlantDocument, toRow } from './documents.ts';
import { limited } from './limited.ts';
import { after, ownedBy } from './rows.ts';

/**
 * The read model at one moment of the replica set. The server keeps every moment for some minutes (its parameter
 * minSnapshotHistoryWindowInSeconds, 300 by default), whether anybody reads it or not. So an open snapshot is a timestamp and
 * nothing else: there may be any number, and a failover does not end it.
 */
export class MongoSnapshot implements Snapshot {
  readonly position: number;
  readonly #db: Db;
  readonly #collection: string;
  readonly #moment: Timestamp;
  #closed = false;

  /** `moment` is one at which the rows are in `collection` and stand at `position`. */
  constructor(db: Db, position: number, collection: string, moment: Timestamp) {
    this.#db = db;
    this.position = position;
    this.#collection = collection;
    this.#moment = moment;
  }

  list(owner: string, start: bigint | undefined): AsyncIterable<PlantRow[]> {
    return batches(async (last: PlantRow | undefined) => {
      const rows = await this.#find(ownedBy(owner, last?.id ?? start));
      return rows.map(({ id, name, tag }) => ({ id, name, tag }));
    });
  }

  all(): AsyncIterable<OwnedRow[]> {
    return batches((last: OwnedRow | undefined) => this.#find(after(last)));
  }

  async #find(filter: Document): Promise<OwnedRow[]> {
    const find = {
      find: this.#collection,
      filter,
      sort: { _id: 1 },
      limit: BATCH,
      batchSize: BATCH + 1,
      readConcern: { level: 'snapshot', atClusterTime: this.#moment },
      maxTimeMS: COMMAND_LIMIT,
    };
    const found = this.#closed ? [] : await limited(this.#db.runCursorCommand(find, BSON).toArray());
    if (this.#closed) throw new Error('the snapshot is closed');
    return (found as unknown as PlantDocument[]).map(toRow);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }
}
