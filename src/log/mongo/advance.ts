import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientSession, Long, type TransactionOptions } from 'mongodb';
import type { Changes } from '../store.ts';
import { WRITE_CONCERN } from './client.ts';
import { type Collections, PLANTS_CHECKPOINT } from './collections.ts';
import { toPlantId } from './documents.ts';
import { isTransient } from './errors.ts';
import { slices } from './slices.ts';

/** Times that a step is tried while another is in its way, with pauses of up to 2, 4, 8, ... milliseconds in between. */
const ATTEMPTS = 9;

const TRANSACTION: TransactionOptions = {
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  writeConcern: WRITE_CONCERN,
};

/** Keys in one delete. */
const DELETE_LIMIT = 500;

/**
 * Moves the checkpoint and applies the changes in one transaction, which compares the checkpoint first. Rejects when the outcome
 * of the commit stays unknown: the checkpoint then tells.
 */
export async function advance(
  collections: Collections,
  session: ClientSession,
  from: number,
  to: number,
  changes: Changes,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    session.startTransaction(TRANSACTION);
    try {
      const moved = await moveCheckpoint(collections, session, from, to);
      if (moved) {
        await applyChanges(collections, session, changes);
        await session.commitTransaction();
      } else await session.abortTransaction();
      return moved;
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction();
      if (!isTransient(error) || attempt === ATTEMPTS) throw error;
    }
    await sleep(2 ** attempt * Math.random());
  }
}

async function moveCheckpoint(
  { checkpoints }: Collections,
  session: ClientSession,
  from: number,
  to: number,
): Promise<boolean> {
  const there = { _id: PLANTS_CHECKPOINT, position: Long.fromNumber(from) };
  const { matchedCount } = await checkpoints.updateOne(there, { $set: { position: Long.fromNumber(to) } }, { session });
  return matchedCount === 1;
}

async function applyChanges(
  { plants }: Collections,
  session: ClientSession,
  { deletes, inserts }: Changes,
): Promise<void> {
  for (const keys of slices(deletes, DELETE_LIMIT)) {
    const { deletedCount } = await plants.deleteMany({ _id: { $in: keys.map(toPlantId) } }, { session });
    if (deletedCount !== keys.length)
      throw new Error(`the read model has ${deletedCount} of ${keys.length} plants that are to be deleted`);
  }
  if (inserts.length === 0) return;
  const rows = inserts.map(({ name, tag, ...key }) => ({ _id: toPlantId(key), name, tag }));
  await plants.insertMany(rows, { session });
}
