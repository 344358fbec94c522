import type { Db, Timestamp } from 'mongodb';
import type { PlantRow, Snapshot } from '../store.ts';
import type { CausalClock } from './causal-clock.ts';
import { BSON, COMMAND_LIMIT } from './client.ts';
import { PLANTS_CHECKPOINT } from './collections.ts';
import { type PlantDocument, toPlantRow } from './documents.ts';
import { ownedBy } from './rows.ts';

/** Rows read at once. */
const BATCH = 1_000;

/**
 * The read model at one moment of the replica set. The server keeps every moment for some minutes (its parameter
 * minSnapshotHistoryWindowInSeconds, 300 by default) whether anybody reads it or not. So an open snapshot is a timestamp and
 * nothing else: there may be any number, and a failover does not end it.
 */
export class MongoSnapshot implements Snapshot {
  readonly position: number;
  readonly #db: Db;
  readonly #moment: Timestamp;
  #closed = false;

  private constructor(db: Db, position: number, moment: Timestamp) {
    this.#db = db;
    this.position = position;
    this.#moment = moment;
  }

  /** The read model as of now. */
  static async open(db: Db, clock: CausalClock): Promise<MongoSnapshot> {
    const { cursor } = await clock.read((session) =>
      db.command(
        {
          find: 'checkpoints',
          filter: { _id: PLANTS_CHECKPOINT },
          limit: 1,
          singleBatch: true,
          readConcern: { level: 'snapshot' },
          maxTimeMS: COMMAND_LIMIT,
        },
        { session },
      ),
    );
    return new MongoSnapshot(db, Number(cursor.firstBatch[0].position), cursor.atClusterTime);
  }

  async *list(owner: string, after: bigint | undefined): AsyncGenerator<PlantRow[]> {
    for (let last = after; ; ) {
      const rows = await this.#page(owner, last);
      if (this.#closed) throw new Error('the snapshot is closed');
      if (rows.length > 0) yield rows;
      if (rows.length < BATCH) return;
      last = rows.at(-1)!.id;
    }
  }

  async #page(owner: string, after: bigint | undefined): Promise<PlantRow[]> {
    const plants = await this.#db
      .runCursorCommand(
        {
          find: 'plants',
          filter: ownedBy(owner, after),
          sort: { _id: 1 },
          limit: BATCH,
          batchSize: BATCH + 1,
          readConcern: { level: 'snapshot', atClusterTime: this.#moment },
          maxTimeMS: COMMAND_LIMIT,
        },
        BSON,
      )
      .toArray();
    return (plants as unknown as PlantDocument[]).map(toPlantRow);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }
}
