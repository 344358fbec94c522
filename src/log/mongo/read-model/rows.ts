import type { Document } from 'mongodb';
import { MAX_INT64, MIN_INT64, type PlantKey } from '../../../domain/plant.ts';
import { toPlantId } from '../documents.ts';

/** Selects an owner's plants with ids above `after`, or all of them: a range of the index on `_id`. */
export const ownedBy = (owner: string, after: bigint | undefined): Document => ({
  _id: {
    [after === undefined ? '$gte' : '$gt']: toPlantId({ owner, id: after ?? MIN_INT64 }),
    $lte: toPlantId({ owner, id: MAX_INT64 }),
  },
});

/**
 * Selects every plant after a key, or all plants, in the order of the index on `_id`: by the bytes of the owner's
 * UTF-8, then by id.
 */
export const after = (key: PlantKey | undefined): Document =>
  key === undefined ? {} : { _id: { $gt: toPlantId(key) } };
