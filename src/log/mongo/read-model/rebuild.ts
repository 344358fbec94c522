import { type Db, Long } from 'mongodb';
import type { Changes, OwnedRow, Rebuild } from '../../store.ts';
import { BATCH, batches } from '../batches.ts';
import { collectionsOf, PLANTS_CHECKPOINT, plantsCollection, rowsIn } from '../collections.ts';
import { WITHIN_TRANSACTION, withCallLimit } from '../connection/call-limit.ts';
import type { CausalClock } from '../connection/causal-clock.ts';
import { COMMAND_LIMIT } from '../connection/client.ts';
import type { Transactions } from '../connection/transactions.ts';
import { toRow } from '../documents.ts';
import { applyChanges } from './changes.ts';
import { after } from './rows.ts';
import { dropUnusedRows } from './unused-rows.ts';

const CHECKPOINT = { _id: PLANTS_CHECKPOINT };

const replaced = () => new Error('another rebuild was started');

/**
 * Rows in a collection of their own. The checkpoint names both the collection that is read and the one that is being built: to
 * swap is to change that one document, and who is not named there any more cannot. What is not named there any more is dropped
 * (unused-rows.ts): by the rebuild at its end or, if it is killed before, by the next one, or by the next instance that starts.
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

  /** Begins with no rows, and ends any rebuild that is going on. */
  static async start(db: Db, clock: CausalClock, transactions: Transactions): Promise<MongoRebuild> {
    const { checkpoints } = collectionsOf(db);
    const before = await clock.run((session) => checkpoints.findOne(CHECKPOINT, { session }));
    const { rebuilds, collection } = before!;
    const name = plantsCollection(rebuilds + 1);
    const started = await withCallLimit(
      // The collection too: the rebuild before may just have been swapped, and what it built is read now.
      checkpoints.updateOne(
        { ...CHECKPOINT, rebuilds, collection },
        { $set: { rebuilds: rebuilds + 1, building: name } },
      ),
    );
    if (started.matchedCount === 0) throw replaced();
    await dropUnusedRows(db);
    await withCallLimit(db.createCollection(name));
    return new MongoRebuild(db, clock, transactions, name);
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
    return batches(async (last: OwnedRow | undefined) => {
      const found = await this.#clock.run((session) =>
        rowsIn(this.#db, this.#name)
          .find(after(last), { session, maxTimeMS: COMMAND_LIMIT })
          .sort({ _id: 1 })
          .limit(BATCH)
          .batchSize(BATCH + 1)
          .toArray(),
      );
      return found.map(toRow);
    });
  }

  async swap(position: number): Promise<boolean> {
    const to = Long.fromNumber(position);
    const before = await this.#clock.run((session) =>
      this.#checkpoints.findOneAndUpdate(
        { ...CHECKPOINT, building: this.#name, position: { $lte: to } },
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
   * Drops what nobody reads any more: the rows that were built, or those whose place they took. Which, the checkpoint tells: a swap
   * whose answer was lost may have taken place, and cannot any more once no building of this name is known.
   *
   * A long list that is just being read from rows that were replaced ends with an error.
   */
  async close(): Promise<void> {
    await this.#clock.run((session) =>
      this.#checkpoints.updateOne({ ...CHECKPOINT, building: this.#name }, { $unset: { building: '' } }, { session }),
    );
    await dropUnusedRows(this.#db);
  }
}
