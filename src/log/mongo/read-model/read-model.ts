import { Binary, type Db, type Document, Long, type Timestamp } from 'mongodb';
import { keyString, plantFields, withId } from '../../../domain/plant.ts';
import { Semaphore } from '../../../semaphore.ts';
import { batches, type Page } from '../../batches.ts';
import {
  lostCheckpoint,
  type OwnedRow,
  type PlantRow,
  type Rows,
  type Snapshot,
  type Standing,
  type Store,
} from '../../store.ts';
import { storedHashes } from '../../tree/nodes.ts';
import { CHECKPOINT_ID, type CheckpointDocument, checkpointIn, collectionsOf, isCheckpoint } from '../collections.ts';
import type { CausalClock } from '../connection/causal-clock.ts';
import { BSON, COMMAND_LIMIT, withCallLimit } from '../connection/client.ts';
import { retried } from '../connection/errors.ts';
import type { Primary } from '../connection/primary.ts';
import type { Transactions } from '../connection/transactions.ts';
import { type PlantDocument, toPlantId, toRow } from '../documents.ts';
import { applyChanges, moveCheckpoint, removeRows } from './changes.ts';
import { after, FOUND_ROWS, type FoundRows, firstRowsStages, ownedBy, pageOf } from './rows.ts';

/** Most rows of one read: a page of 1,000, and one more that shows whether any follow. */
const MOST_ROWS = 1_001;

/**
 * Most reads of rows at once. To decode the longest rows of one takes the event loop some 10 ms, and the replies to
 * many would come in one turn. Further reads wait, and owners take turns.
 */
const READS = 4;
/** Most reads of one owner that wait; no owner has as many requests. */
const WAITING = 1_024;

const CHECKPOINT = { _id: CHECKPOINT_ID } as const;
const AND_CHECKPOINT = { $unionWith: { coll: 'plants', pipeline: [{ $match: CHECKPOINT }] } };

/** The rows of the read model and their checkpoint. Results are majority-committed and no older than the clock. */
export function mongoReadModel(db: Db, clock: CausalClock, primary: Primary, transactions: Transactions) {
  const collections = collectionsOf(db);
  const { tree } = collections;
  const checkpoints = checkpointIn(collections);
  const reads = new Semaphore({ permits: READS, maxWaiting: WAITING });

  const checkpointNow = async () =>
    present(await clock.run((session) => checkpoints.findOne(CHECKPOINT, { session, maxTimeMS: COMMAND_LIMIT })));

  return {
    async checkpoint() {
      return Number((await checkpointNow()).position);
    },

    generation: () => primary.read(async () => Number((await checkpointNow()).generation)),

    /**
     * It has no bound on bytes: the longest row has 12.3 KiB (owner, name and tag of 4 KiB each), the committer reads
     * the rows of 512 commands at a time, and other calls one row for each of MAX_IN_FLIGHT requests. So all reads at
     * once have 1,536 rows, 19 MiB, of which a reply has 12 MiB.
     */
    async get(keys) {
      const filter = { _id: { $in: [CHECKPOINT_ID, ...keys.map(toPlantId)] } };
      const find = { find: 'plants', filter, batchSize: keys.length + 2 };
      const { found, ...standing } = await readRows<PlantDocument>(db, clock, find);
      const rows = new Map(found.map(toRow).map((row) => [keyString(row.owner, row.id), plantFields(row)]));
      return { rows: keys.map(({ owner, id }) => rows.get(keyString(owner, id))), ...standing };
    },

    async list(owner, after, limit) {
      const most = Math.min(limit, MOST_ROWS);
      using _permit = await reads.acquire(owner);
      const pipeline = [...firstRowsStages(ownedBy(owner, after), most), AND_CHECKPOINT];
      const aggregate = { aggregate: 'plants', pipeline, cursor: {} };
      const { found, ...standing } = await readRows<FoundRows>(db, clock, aggregate);
      const { rows, whole } = await pageOf(found[0], most);
      return { rows: rows.map((row) => withId(row.id, row)), whole, ...standing };
    },

    /** A snapshot holds up nothing. */
    async waitBeforeLongRead() {},

    async snapshot() {
      const find = {
        find: 'plants',
        filter: CHECKPOINT,
        readConcern: { level: 'snapshot' },
        maxTimeMS: COMMAND_LIMIT,
      };
      const { rows, moment } = await clock.readSnapshot<CheckpointDocument>(db, find, BSON);
      const [found] = rows;
      return mongoSnapshot(db, isCheckpoint(found) ? standingOf(found) : undefined, moment, reads);
    },

    /** Every transaction that adds rows changes the checkpoint's document, so that two of them conflict. */
    async advance(from, to, changes, nodes) {
      return transactions.run(async (session) => {
        const { erased } = changes;
        if (erased !== undefined && (await removeRows(collections, session, erased, from!)) > 0) return undefined;
        if (!(await moveCheckpoint(collections, session, from, to))) return false;
        await applyChanges(collections, session, changes, nodes);
        return true;
      });
    },

    async nodes(start, end) {
      const range = { $gte: Long.fromNumber(start), $lt: Long.fromNumber(end) };
      const found = await clock.run((session) =>
        tree
          .find({ _id: range }, { session, maxTimeMS: COMMAND_LIMIT })
          .sort({ _id: 1 })
          .batchSize(end - start + 1)
          .toArray(),
      );
      return storedHashes(
        start,
        found.map(({ _id, hash }) => [_id, hash instanceof Binary ? Uint8Array.from(hash.value()) : undefined]),
      );
    },

    nodeCount: () => clock.run((session) => tree.countDocuments({}, { session, maxTimeMS: COMMAND_LIMIT })),
  } satisfies Partial<Store>;
}

/**
 * Reads rows and the checkpoint by one command over both, at one point in time. So the rows are exactly those of the
 * checkpoint.
 */
async function readRows<Found extends { readonly _id: unknown }>(
  db: Db,
  clock: CausalClock,
  command: Document,
): Promise<Omit<Rows<never>, 'rows'> & { readonly found: Found[] }> {
  const reads = { ...command, readConcern: { level: 'snapshot' }, maxTimeMS: COMMAND_LIMIT };
  const { rows } = await retried(() => clock.readSnapshot<Found | CheckpointDocument>(db, reads, FOUND_ROWS));
  const checkpoint = present(rows.find((row) => row._id === CHECKPOINT_ID) as CheckpointDocument | undefined);
  const found = rows.filter((row) => row._id !== CHECKPOINT_ID) as Found[];
  return { found, ...standingOf(checkpoint), generation: Number(checkpoint.generation) };
}

/** A document of another type than a checkpoint is what was found where there is none. */
function present(found: CheckpointDocument | null | undefined): CheckpointDocument {
  if (!isCheckpoint(found)) throw lostCheckpoint();
  return found;
}

function standingOf({ position, upTo }: CheckpointDocument): Standing {
  const checkpoint = Number(position);
  return { checkpoint, upTo: Math.max(checkpoint, Number(upTo ?? 0)) };
}

/**
 * The read model at one moment of the replica set. The server keeps every moment for some minutes (parameter
 * minSnapshotHistoryWindowInSeconds, 300 by default), with or without readers. So an open snapshot is only a timestamp:
 * any number may be open, and a failover does not end them.
 *
 * `moment`: a moment at which the read model stands there. Undefined: its checkpoint is gone. `reads` bounds the reads
 * of an owner's rows.
 */
function mongoSnapshot(db: Db, standing: Standing | undefined, moment: Timestamp, reads: Semaphore): Snapshot {
  let isClosed = false;

  async function find(filter: Document, limit: number): Promise<Page<OwnedRow>> {
    const aggregate = {
      aggregate: 'plants',
      pipeline: [...firstRowsStages(filter, limit), AND_CHECKPOINT],
      cursor: {},
      readConcern: { level: 'snapshot', atClusterTime: moment },
      maxTimeMS: COMMAND_LIMIT,
    };
    const found = isClosed ? [] : await withCallLimit(db.runCursorCommand(aggregate, FOUND_ROWS).toArray());
    if (isClosed) throw new Error('the snapshot is closed');
    // A server before 7.0 reads nothing, at any moment, of a collection that was dropped since.
    if (standing !== undefined && found.at(-1)?._id !== CHECKPOINT_ID) throw lostCheckpoint();
    return pageOf(found.find(({ _id }) => _id === null) as FoundRows | undefined, limit);
  }

  return {
    position: standing?.checkpoint,
    upTo: standing?.upTo ?? 0,
    list: (owner, start) =>
      batches(async (last: PlantRow | undefined, limit) => {
        using _permit = await reads.acquire(owner);
        const { rows, whole } = await find(ownedBy(owner, last?.id ?? start), limit);
        return { rows: rows.map((row) => withId(row.id, row)), whole };
      }),
    all: () => batches((last: OwnedRow | undefined, limit) => find(after(last), limit)),
    async close() {
      isClosed = true;
    },
  };
}
