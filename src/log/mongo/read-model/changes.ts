import { Binary, type ClientSession, type Filter, Long } from 'mongodb';
import { slices } from '../../batches.ts';
import { BrokenReadModelError, type Changes, type Nodes } from '../../store.ts';
import { nodesOf } from '../../tree/nodes.ts';
import { type Collections, isCheckpoint, PLANTS_CHECKPOINT, type TreeNodeDocument } from '../collections.ts';
import { WITHIN_TRANSACTION, withCallLimit } from '../connection/client.ts';
import { CODE, hasCode } from '../connection/errors.ts';
import { toPlantDocument, toPlantId } from '../documents.ts';
import { ownedBy } from './rows.ts';

const DELETE_LIMIT = 250;
/** Most rows of an owner that one transaction removes. */
const REMOVED = 2_000;

/** A document that `tree` never has. */
const NO_NODE = { _id: Long.NEG_ONE };

type Parts = Pick<Collections, 'events' | 'plants' | 'checkpoints' | 'tree'>;

/** Compares and moves the checkpoint in the caller's transaction; see Store.advance. Returns whether it was `from`. */
export async function moveCheckpoint(
  parts: Parts,
  session: ClientSession,
  from: number | undefined,
  to: number | undefined,
): Promise<boolean> {
  if (!(await compareAndMove(parts, session, from, to))) return false;
  if (to !== undefined && (from === undefined || from === to))
    await within(parts.tree.deleteMany(notBelow(nodesOf(to)), { session }));
  return true;
}

/** Selects the documents of `tree` that are none of the first `count` nodes. */
const notBelow = (count: number): Filter<TreeNodeDocument> => ({
  $nor: [{ _id: { $type: 'long', $gte: Long.ZERO, $lt: Long.fromNumber(count) } }],
});

async function compareAndMove(
  { events, checkpoints, tree }: Parts,
  session: ClientSession,
  from: number | undefined,
  to: number | undefined,
): Promise<boolean> {
  const _id = PLANTS_CHECKPOINT;
  if (from === undefined) {
    if (isCheckpoint(await within(checkpoints.findOne({ _id }, { session })))) return false;
    // A document that is not there was only read. What all of these steps write makes two of them conflict.
    await within(tree.replaceOne(NO_NODE, { hash: new Binary(new Uint8Array()) }, { session, upsert: true }));
    await within(tree.deleteOne(NO_NODE, { session }));
    if (to === undefined) return true;
    // The generation of a lost checkpoint is lost too. Milliseconds are more than there were repairs.
    const generation = Long.fromNumber(Date.now());
    const checkpoint = { position: Long.fromNumber(to), generation };
    await within(checkpoints.replaceOne({ _id }, checkpoint, { session, upsert: true }));
    return true;
  }
  // Rows are being removed only for an erasure right behind the checkpoint.
  const erasure = { _id: Long.fromNumber(from + 1), erases: { $exists: true } };
  const keepsUpTo =
    from === to && (await within(events.findOne(erasure, { session, projection: { _id: 1 } }))) !== null;
  const update =
    from === to
      ? { $inc: { generation: Long.ONE }, ...(!keepsUpTo && { $unset: { upTo: '' as const } }) }
      : { $set: { position: Long.fromNumber(to!) }, $unset: { upTo: '' as const } };
  const moved = await within(checkpoints.updateOne({ _id, position: Long.fromNumber(from) }, update, { session }));
  return moved.matchedCount === 1;
}

/** Removes some rows of an owner within the caller's transaction, as Store.removeRows says. */
export async function removeRows(
  { plants, checkpoints }: Parts,
  session: ClientSession,
  owner: string,
  from: number,
): Promise<number> {
  const moved = await within(
    checkpoints.updateOne(
      { _id: PLANTS_CHECKPOINT, position: Long.fromNumber(from) },
      { $set: { upTo: Long.fromNumber(from + 1) } },
      { session },
    ),
  );
  if (moved.matchedCount === 0) return 0;
  const found = plants.find(ownedBy(owner, undefined), { session, projection: { _id: 1 }, limit: REMOVED });
  const keys = (await within(found.toArray())).map(({ _id }) => _id);
  if (keys.length > 0) await within(plants.deleteMany({ _id: { $in: keys } }, { session }));
  return keys.length;
}

/** Whether an owner has rows. Undefined: nobody, who has none. */
export const hasRows = async ({ plants }: Parts, session: ClientSession, owner: string | undefined): Promise<boolean> =>
  owner !== undefined && (await within(plants.findOne(ownedBy(owner, undefined), { session }))) !== null;

/** Applies changes within the caller's transaction. Rejects with BrokenReadModelError when they do not fit the rows. */
export async function applyChanges(
  { plants, tree }: Parts,
  session: ClientSession,
  { deletes, inserts }: Changes,
  { first, hashes }: Nodes,
): Promise<void> {
  for (const keys of slices(deletes, DELETE_LIMIT))
    await within(plants.deleteMany({ _id: { $in: keys.map(toPlantId) } }, { session }));
  if (inserts.length > 0)
    try {
      await within(plants.insertMany(inserts.map(toPlantDocument), { session }));
    } catch (error) {
      if (!hasCode(error, CODE.duplicateKey)) throw error;
      throw new BrokenReadModelError('the read model has a plant that is to be added');
    }
  if (hashes.length === 0) return;
  const replaced = hashes.map((hash, at) => ({
    replaceOne: {
      filter: { _id: Long.fromNumber(first + at) },
      replacement: { hash: new Binary(hash) },
      upsert: true,
    },
  }));
  await within(tree.bulkWrite(replaced, { session }));
}

const within = <T>(call: Promise<T>): Promise<T> => withCallLimit(call, WITHIN_TRANSACTION);
