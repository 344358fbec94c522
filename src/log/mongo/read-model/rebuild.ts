import { type Db, Long } from 'mongodb';
import type { Changes, OwnedRow, Rebuild } from '../../store.ts';
import { batches } from '../batches.ts';
import {
  type CheckpointDocument,
  collectionsOf,
  PLANTS_CHECKPOINT,
  plantsCollection,
  rebuildOf,
  rowsIn,
} from '../collections.ts';
import { WITHIN_TRANSACTION, withCallLimit } from '../connection/call-limit.ts';
import type { CausalClock } from '../connection/causal-clock.ts';
import { COMMAND_LIMIT } from '../connection/client.ts';
import { CODE, ignoring } from '../connection/errors.ts';
import type { Transactions } from '../connection/transactions.ts';
import { applyChanges } from './changes.ts';
import { after, type FoundRows, firstRowsStages, pageOf } from './rows.ts';
import { dropUnusedRows } from './unused-rows.ts';

const CHECKPOINT = { _id: PLANTS_CHECKPOINT };

const replaced = () => new Error('another rebuild was started');

/**
 * Rows in their own collection. The checkpoint document names both the live collection and the one being built. A swap
 * changes only that document, and a rebuild that is no longer named there cannot swap. unused-rows.ts drops collections
 * that are no longer named: at the end of the rebuild or, if it is killed, at the next rebuild or start of an instance.
 */
export class MongoRebuild implements Rebuild {
  readonly #db: Db;
  readonly #checkpoints;
  readonly #clock: CausalClock;
  readonly #transactions: Transactions;
  readonly #name: string;

  private constructor(db: Db, clock: CausalClock, transactions: Transactions, name: string) {
    this.#db = db;
    this.#checkpoints = collectionsOf(db).checkpoints;
    this.#clock = clock;
    this.#transactions = transactions;
    this.#name = name;
  }

  /** Starts without rows, and ends any rebuild in progress. */
  static async start(db: Db, clock: CausalClock, transactions: Transactions): Promise<MongoRebuild> {
    const { checkpoints } = collectionsOf(db);
    const before = await clock.run((session) => checkpoints.findOne(CHECKPOINT, { session }));
    const { rebuilds, collection } = before ?? (await MongoRebuild.#withoutCheckpoint(db));
    const name = plantsCollection(rebuilds + 1);
    const started = await withCallLimit(
      // Compares the collection too: the previous rebuild may just have been swapped in, and its collection is live
      // now.
      checkpoints.updateOne(
        { ...CHECKPOINT, rebuilds, collection: collection ?? { $exists: false } },
        { $set: { rebuilds: rebuilds + 1, building: name } },
      ),
    );
    if (started.matchedCount === 0) throw replaced();
    await dropUnusedRows(db);
    await withCallLimit(db.createCollection(name));
    return new MongoRebuild(db, clock, transactions, name);
  }

  /**
   * Begins a lost checkpoint anew. It names no rows until the swap: which of the collections had them, and up to where
   * they were folded, nobody knows. The next number is higher than that of any rows, for the generation grows.
   */
  static async #withoutCheckpoint(db: Db): Promise<CheckpointDocument> {
    const found = await withCallLimit(
      db.listCollections({}, { nameOnly: true, authorizedCollections: true }).toArray(),
    );
    const rebuilds = Math.max(0, ...found.map(({ name }) => rebuildOf(name) ?? 0));
    const begun: CheckpointDocument = { _id: PLANTS_CHECKPOINT, rebuilds };
    await ignoring(CODE.duplicateKey, withCallLimit(collectionsOf(db).checkpoints.insertOne(begun)));
    return begun;
  }

  apply(changes: Changes): Promise<void> {
    return this.#transactions.run(async (session) => {
      const own = await withCallLimit(
        this.#checkpoints.findOne({ ...CHECKPOINT, building: this.#name }, { session }),
        WITHIN_TRANSACTION,
      );
      if (own === null) throw replaced();
      await applyChanges(rowsIn(this.#db, this.#name), session, changes);
    });
  }

  all(): AsyncIterable<OwnedRow[]> {
    return batches(async (last: OwnedRow | undefined, limit) => {
      const [found] = await this.#clock.run((session) =>
        rowsIn(this.#db, this.#name)
          .aggregate<FoundRows>(firstRowsStages(after(last), limit), { session, maxTimeMS: COMMAND_LIMIT })
          .toArray(),
      );
      return pageOf(found, limit);
    });
  }

  async swap(position: number): Promise<boolean> {
    const to = Long.fromNumber(position);
    const before = await this.#clock.run((session) =>
      this.#checkpoints.findOneAndUpdate(
        // No position is not above it either.
        { ...CHECKPOINT, building: this.#name, position: { $not: { $gt: to } } },
        { $set: { position: to, collection: this.#name }, $unset: { building: '' } },
        { session },
      ),
    );
    if (before !== null) return true;
    const own = await this.#clock.run((session) =>
      this.#checkpoints.findOne({ ...CHECKPOINT, building: this.#name }, { session }),
    );
    if (own === null) throw replaced();
    return false;
  }

  /**
   * Drops the unused rows: the built ones, or those that they replaced. The checkpoint decides which. A swap whose
   * answer was lost may have taken place; once the checkpoint no longer names this rebuild, it cannot take place any
   * more.
   *
   * A long list that is still being read from replaced rows ends with an error.
   */
  async close(): Promise<void> {
    await this.#clock.run((session) =>
      this.#checkpoints.updateOne({ ...CHECKPOINT, building: this.#name }, { $unset: { building: '' } }, { session }),
    );
    await dropUnusedRows(this.#db);
  }
}
