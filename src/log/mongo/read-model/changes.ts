import type { ClientSession, Collection } from 'mongodb';
import { BrokenReadModelError, type Changes } from '../../store.ts';
import { WITHIN_TRANSACTION, withCallLimit } from '../connection/call-limit.ts';
import { CODE, hasCode } from '../connection/errors.ts';
import { type PlantDocument, toPlantDocument, toPlantId } from '../documents.ts';
import { slices } from '../slices.ts';

/** Most keys in one delete. */
const DELETE_LIMIT = 500;

/** Applies changes to rows within the caller's transaction. Rejects with BrokenReadModelError when they do not fit. */
export async function applyChanges(
  rows: Collection<PlantDocument>,
  session: ClientSession,
  { deletes, inserts }: Changes,
): Promise<void> {
  for (const keys of slices(deletes, DELETE_LIMIT)) {
    const { deletedCount } = await withCallLimit(
      rows.deleteMany({ _id: { $in: keys.map(toPlantId) } }, { session }),
      WITHIN_TRANSACTION,
    );
    if (deletedCount !== keys.length)
      throw new BrokenReadModelError(
        `the read model has ${deletedCount} of ${keys.length} plants that are to be deleted`,
      );
  }
  if (inserts.length === 0) return;
  try {
    await withCallLimit(rows.insertMany(inserts.map(toPlantDocument), { session }), WITHIN_TRANSACTION);
  } catch (error) {
    if (!hasCode(error, CODE.duplicateKey)) throw error;
    throw new BrokenReadModelError('the read model has a plant that is to be added');
  }
}
