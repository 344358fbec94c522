import { Binary, type ClientSession, type Filter, Long, ObjectId } from 'mongodb';
import { slices } from '../../batches.ts';
import { BrokenReadModelError, type Changes, type Nodes } from '../../store.ts';
import { nodeCountOf } from '../../tree/nodes.ts';
import { CHECKPOINT_ID, type Collections, checkpointIn, isCheckpoint, type TreeNodeDocument } from '../collections.ts';
import { WITHIN_TRANSACTION, withCallLimit } from '../connection/client.ts';
import { CODE, ignoring } from '../connection/errors.ts';
import { toPlantDocument, toPlantId } from '../documents.ts';
import { ownedBy } from './rows.ts';

const DELETE_LIMIT = 250;
/** Most rows of an owner that one transaction removes. */
const REMOVED = 2_000;

type Parts = Pick<Collections, 'events' | 'plants' | 'tree'>;

/** Compares and moves the checkpoint in the caller's transaction; see Store.advance. Returns whether it was `from`. */
export async function moveCheckpoint(
  parts: Parts,
  session: ClientSession,
  from: number | undefined,
  to: number | undefined,
): Promise<boolean> {
  if (!(await compareAndMove(parts, session, from, to))) return false;
  if (to !== undefined && (from === undefined || from === to))
    await within(parts.tree.deleteMany(notBelow(nodeCountOf(to)), { session }));
  return true;
}

/** Selects the documents of `tree` that are none of the first `count` nodes. */
const notBelow = (count: number): Filter<TreeNodeDocument> => ({
  $nor: [{ _id: { $type: 'long', $gte: Long.ZERO, $lt: Long.fromNumber(count) } }],
});

async function compareAndMove(
  parts: Parts,
  session: ClientSession,
  from: number | undefined,
  to: number | undefined,
): Promise<boolean> {
  const checkpoints = checkpointIn(parts);
  const _id = CHECKPOINT_ID;
  if (from === undefined) {
    if (isCheckpoint(await within(checkpoints.findOne({ _id }, { session })))) return false;
    // What was only read makes no two steps conflict: so each writes.
    if (to === undefined) {
      await within(checkpoints.updateOne({ _id }, { $set: { repair: new ObjectId() } }, { session, upsert: true }));
      return true;
    }
    // The generation of a lost checkpoint is lost too. Milliseconds are more than there were repairs.
    const checkpoint = { position: Long.fromNumber(to), generation: Long.fromNumber(Date.now()) };
    await within(checkpoints.replaceOne({ _id }, checkpoint, { session, upsert: true }));
    return true;
  }
  // Rows are being removed only for an erasure right behind the checkpoint.
  const erasure = { _id: Long.fromNumber(from + 1), erases: { $exists: true } };
  const keepsUpTo =
    from === to && (await within(parts.events.findOne(erasure, { session, projection: { _id: 1 } }))) !== null;
  const update =
    from === to
      ? { $inc: { generation: Long.ONE }, ...(!keepsUpTo && { $unset: { upTo: '' as const } }) }
      : { $set: { position: Long.fromNumber(to!) }, $unset: { upTo: '' as const } };
  const moved = await within(checkpoints.updateOne({ _id, position: Long.fromNumber(from) }, update, { session }));
  return moved.matchedCount === 1;
}

/** Removes some rows of an erased owner within the caller's transaction. Returns their number. */
export async function removeRows(parts: Parts, session: ClientSession, owner: string, from: number): Promise<number> {
  const { plants } = parts;
  const moved = await within(
    checkpointIn(parts).updateOne(
      { _id: CHECKPOINT_ID, position: Long.fromNumber(from) },
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

/** Applies changes within the caller's transaction. Rejects with BrokenReadModelError when they do not fit the rows. */
export async function applyChanges(
  { plants, tree }: Parts,
  session: ClientSession,
  { deletes, inserts }: Changes,
  { first, hashes }: Nodes,
): Promise<void> {
  for (const keys of slices(deletes, DELETE_LIMIT))
    await within(plants.deleteMany({ _id: { $in: keys.map(toPlantId) } }, { session }));
  if (inserts.length > 0) {
    const inserting = within(plants.insertMany(inserts.map(toPlantDocument), { session }));
    if ((await ignoring(CODE.duplicateKey, inserting)) === undefined)
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
