import { randomUUID } from 'node:crypto';
import { type Db, Long } from 'mongodb';
import type { Changes, OwnedRow, Rebuild } from '../store.ts';
import { BATCH, batches } from './batches.ts';
import type { CausalClock } from './causal-clock.ts';
import { applyChanges } from './changes.ts';
import { COMMAND_LIMIT } from './client.ts';
import { type CheckpointDocument, collectionsOf, PLANTS, PLANTS_CHECKPOINT, rowsIn } from './collections.ts';
import { toRow } from './documents.ts';
import { after } from './rows.ts';
import type { Transactions } from './transactions.ts';

const CHECKPOINT = { _id: PLANTS_CHECKPOINT };

/**
 * Rows in a collection of their own. The checkpoint names both the collection that is read and the one that is being built: to
 * swap is to change that one document, and who is not named there any more cannot.
 */
export class MongoRebuild implements Rebuild {
  readonly #name = `${PLANTS}_${randomUUID().replaceAll('-', '')}`;
  readonly #db: Db;
  readonly #checkpoints;
  readonly #clock: CausalClock;
  readonly #transactions: Transactions;

  private constructor(db: Db, clock: CausalClock, transactions: Transactions) {
    this.#db = db;
    this.#checkpoints = collectionsOf(db).checkpoints;
    this.#clock = clock;
    this.#transactions = transactions;
  }

  /** Begins with no rows, and ends any rebuild that is going on. */
  static async start(db: Db, clock: CausalClock, transactions: Transactions): Promise<MongoRebuild> {
    const rebuild = new MongoRebuild(db, clock, transactions);
    await rebuild.#checkpoints.updateOne(CHECKPOINT, { $set: { building: rebuild.#name } });
    await rebuild.#dropUnused();
    await db.createCollection(rebuild.#name);
    return rebuild;
  }

  apply(changes: Changes): Promise<void> {
    return this.#transactions.run(async (session) => {
      const own = await this.#checkpoints.findOne({ ...CHECKPOINT, building: this.#name }, { session });
      if (own === null) throw new Error('another rebuild was started');
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
    const { matchedCount } = await this.#clock.run((session) =>
      this.#checkpoints.updateOne(
        { ...CHECKPOINT, building: this.#name, position: { $lte: to } },
        { $set: { position: to, collection: this.#name }, $unset: { building: '' } },
        { session },
      ),
    );
    if (matchedCount === 1) return true;
    if ((await this.#checkpoint()).building !== this.#name) throw new Error('another rebuild was started');
    return false;
  }

  /** What the swap left unused is dropped too: a long list that is just being read from it ends with an error. */
  async close(): Promise<void> {
    await this.#checkpoints.updateOne({ ...CHECKPOINT, building: this.#name }, { $unset: { building: '' } });
    await this.#dropUnused();
  }

  /** Drops all rows but those that the checkpoint names. */
  async #dropUnused(): Promise<void> {
    const { collection, building } = await this.#checkpoint();
    const names = this.#db.listCollections({ name: new RegExp(`^${PLANTS}(_|$)`) }, { nameOnly: true });
    for await (const { name } of names)
      if (name !== collection && name !== building) await this.#db.dropCollection(name);
  }

  async #checkpoint(): Promise<CheckpointDocument> {
    const checkpoint = await this.#clock.run((session) => this.#checkpoints.findOne(CHECKPOINT, { session }));
    return checkpoint!;
  }
}
