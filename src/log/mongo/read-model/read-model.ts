import { type Db, type Document, Long } from 'mongodb';
import { keyString, type Plant, type PlantKey, plantFields, withId } from '../../../domain/plant.ts';
import { Semaphore } from '../../../semaphore.ts';
import type { Changes, FirstRows, PlantRow, Rows } from '../../store.ts';
import {
  type CheckpointDocument,
  collectionsOf,
  type LiveCheckpoint,
  live,
  PLANTS_CHECKPOINT,
  plantsCollection,
  rebuildOf,
  rowsIn,
} from '../collections.ts';
import { WITHIN_TRANSACTION, withCallLimit } from '../connection/call-limit.ts';
import type { CausalClock } from '../connection/causal-clock.ts';
import { COMMAND_LIMIT } from '../connection/client.ts';
import type { Transactions } from '../connection/transactions.ts';
import { type PlantDocument, toPlantId, toRow } from '../documents.ts';
import { applyChanges } from './changes.ts';
import { type FoundRows, firstRowsStages, ownedBy, pageOf } from './rows.ts';
import { MongoSnapshot } from './snapshot.ts';

/** Most rows of one read: a page of 1,000, and one more that shows whether any follow. */
const MOST_ROWS = 1_001;

/**
 * Most reads of rows at once. To decode the longest rows of one takes the event loop some 10 ms, and the replies to many
 * would come in one turn. Further reads wait, and owners take turns.
 */
const READS = 4;
/** Most reads of one owner that wait; no owner has as many requests. */
const WAITING = 1_024;

/** Swaps by rebuilds after which one read is given up. */
const MAX_SWAPS = 3;

const CHECKPOINT = { _id: PLANTS_CHECKPOINT };

const generationOf = ({ collection }: LiveCheckpoint): number => rebuildOf(collection) ?? 0;

/** The rows of the read model and their checkpoint. Results are majority-committed and no older than the clock. */
export class ReadModel {
  readonly #db: Db;
  readonly #checkpoints;
  readonly #clock: CausalClock;
  readonly #transactions: Transactions;
  readonly #reads = new Semaphore({ permits: READS, maxWaiting: WAITING });
  /** The collection of the rows at the last read. */
  #collection = plantsCollection(0);

  constructor(db: Db, clock: CausalClock, transactions: Transactions) {
    this.#db = db;
    this.#checkpoints = collectionsOf(db).checkpoints;
    this.#clock = clock;
    this.#transactions = transactions;
  }

  /** See Store.checkpoint. */
  async checkpoint(): Promise<number> {
    return (await this.#checkpoint()).position.toNumber();
  }

  /** See Store.generation. Each rebuild has its own collection, with a higher number than any before. */
  async generation(): Promise<number> {
    return generationOf(await this.#checkpoint());
  }

  async #checkpoint(): Promise<LiveCheckpoint> {
    return live(
      await this.#clock.run((session) => this.#checkpoints.findOne(CHECKPOINT, { session, maxTimeMS: COMMAND_LIMIT })),
    );
  }

  /**
   * See Store.get. It has no bound on bytes: the longest row has 12.3 KiB (owner, name and tag of 4 KiB each), the
   * committer reads the rows of 512 commands at a time, and other calls one row for each of MAX_IN_FLIGHT requests. So
   * all reads at once have 1,536 rows, 19 MiB, of which a reply has 6 MiB.
   */
  async get(keys: readonly PlantKey[]): Promise<Rows<Plant | undefined>> {
    const stages = [{ $match: { _id: { $in: keys.map(toPlantId) } } }];
    const { found, ...standing } = await this.#read<PlantDocument>(stages, keys.length);
    const plants = new Map(found.map(toRow).map((row) => [keyString(row.owner, row.id), plantFields(row)]));
    return { rows: keys.map(({ owner, id }) => plants.get(keyString(owner, id))), ...standing };
  }

  /** See Store.list. */
  async list(owner: string, after: bigint | undefined, limit: number): Promise<FirstRows<PlantRow>> {
    const most = Math.min(limit, MOST_ROWS);
    using _permit = await this.#reads.acquire(owner);
    const { found, ...standing } = await this.#read<FoundRows>(firstRowsStages(ownedBy(owner, after), most), 1);
    const { items, whole } = pageOf(found[0], most);
    return { rows: items.map((row) => withId(row.id, row)), whole, ...standing };
  }

  /**
   * Reads rows and the checkpoint in one round trip: one pipeline over both collections at one point in time. So the
   * rows are exactly those of the checkpoint. The stages give at most `limit` documents.
   */
  async #read<Found extends Document>(
    stages: Document[],
    limit: number,
  ): Promise<Omit<Rows<never>, 'rows'> & { readonly found: Found[] }> {
    const pipeline = [...stages, { $unionWith: { coll: 'checkpoints', pipeline: [{ $match: CHECKPOINT }] } }];
    for (let swaps = 0; swaps <= MAX_SWAPS; swaps++) {
      // Another read may change #collection meanwhile. This read must compare the collection that it used.
      const collection = this.#collection;
      const found = await this.#clock.run((session) =>
        rowsIn(this.#db, collection)
          .aggregate<Found | CheckpointDocument>(pipeline, {
            session,
            readConcern: { level: 'snapshot' },
            batchSize: limit + 2,
            maxTimeMS: COMMAND_LIMIT,
          })
          .toArray(),
      );
      // Without a checkpoint this is something else that was found.
      const checkpoint = live(found.pop() as CheckpointDocument | undefined);
      if (checkpoint.collection === collection)
        return {
          found: found as Found[],
          checkpoint: checkpoint.position.toNumber(),
          generation: generationOf(checkpoint),
        };
      this.#collection = checkpoint.collection;
    }
    throw new Error('the read model is rebuilt over and over');
  }

  /** See Store.snapshot. */
  async snapshot(): Promise<MongoSnapshot> {
    const find = {
      find: 'checkpoints',
      filter: CHECKPOINT,
      readConcern: { level: 'snapshot' },
      maxTimeMS: COMMAND_LIMIT,
    };
    const { cursor } = await this.#clock.run((session) => this.#db.command(find, { session }));
    const { position, collection } = live(cursor.firstBatch[0]);
    return new MongoSnapshot(this.#db, Number(position), collection, cursor.atClusterTime, this.#reads, (name) =>
      this.#isRead(name),
    );
  }

  /**
   * Whether a collection holds the rows now. The primary's own state is enough, majority-committed or not. A collection
   * is dropped after the swap, so a reader that has seen the drop also sees the swap, on that primary and every later
   * one.
   */
  async #isRead(name: string): Promise<boolean> {
    const find = {
      find: 'checkpoints',
      filter: CHECKPOINT,
      readConcern: { level: 'local' },
      maxTimeMS: COMMAND_LIMIT,
    };
    const { cursor } = await withCallLimit(this.#db.command(find));
    return cursor.firstBatch[0]?.collection === name;
  }

  /** See Store.advance. The transaction compares the checkpoint first. */
  advance(from: number, to: number, changes: Changes): Promise<boolean> {
    return this.#transactions.run(async (session) => {
      const moved = await withCallLimit(
        this.#checkpoints.findOneAndUpdate(
          { ...CHECKPOINT, position: Long.fromNumber(from) },
          { $set: { position: Long.fromNumber(to) } },
          { session },
        ),
        WITHIN_TRANSACTION,
      );
      if (moved === null) return false;
      await applyChanges(rowsIn(this.#db, live(moved).collection), session, changes);
      return true;
    });
  }
}
