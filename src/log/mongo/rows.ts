import type { Document } from 'mongodb';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import type { CausalClock } from './causal-clock.ts';
import { COMMAND_LIMIT } from './client.ts';
import { type CheckpointDocument, type Collections, PLANTS_CHECKPOINT } from './collections.ts';
import { type PlantDocument, toPlantId } from './documents.ts';

/** Documents of the read model, and the checkpoint at which they stand. */
export interface DocumentsAtCheckpoint {
  readonly plants: readonly PlantDocument[];
  readonly checkpoint: number;
}

/** Selects an owner's plants with ids above `after`, or all: a range of the index on `_id`. */
export const ownedBy = (owner: string, after: bigint | undefined): Document => ({
  _id: {
    [after === undefined ? '$gte' : '$gt']: toPlantId({ owner, id: after ?? MIN_INT64 }),
    $lte: toPlantId({ owner, id: MAX_INT64 }),
  },
});

/**
 * Reads plants and the checkpoint in one round trip: one pipeline over both collections, at one point in time, so that the rows
 * are exactly those of the checkpoint.
 */
export async function readRows(
  { plants, checkpoints }: Collections,
  clock: CausalClock,
  stages: Document[],
  limit: number,
): Promise<DocumentsAtCheckpoint> {
  const checkpoint = { coll: checkpoints.collectionName, pipeline: [{ $match: { _id: PLANTS_CHECKPOINT } }] };
  const found = await clock.read((session) =>
    plants
      .aggregate<PlantDocument | CheckpointDocument>([...stages, { $unionWith: checkpoint }], {
        session,
        readConcern: { level: 'snapshot' },
        batchSize: limit + 1,
        maxTimeMS: COMMAND_LIMIT,
      })
      .toArray(),
  );
  const { position } = found.pop() as CheckpointDocument;
  return { plants: found as PlantDocument[], checkpoint: position.toNumber() };
}
