import { BSON as Codec, type Document } from 'mongodb';
import { MAX_INT64, MIN_INT64, type PlantKey } from '../../../domain/plant.ts';
import { yieldTurn } from '../../../time/host.ts';
import type { Page } from '../../batches.ts';
import type { OwnedRow } from '../../store.ts';
import { CHECKPOINT_ID } from '../collections.ts';
import { BSON } from '../connection/client.ts';
import { type PlantDocument, toPlantId, toRow } from '../documents.ts';

/** Selects an owner's plants with ids above `after`, or all of them: a range of the index on `_id`. */
export const ownedBy = (owner: string, after: bigint | undefined): Document => ({
  _id: {
    [after === undefined ? '$gte' : '$gt']: toPlantId({ owner, id: after ?? MIN_INT64 }),
    $lte: toPlantId({ owner, id: MAX_INT64 }),
  },
});

/**
 * Selects every plant after a key, or all plants, in the order of the index on `_id`: by the bytes of the owner's
 * UTF-8, then by id. What is not up to a key is of another type, too, and `$gt` would pass it over.
 */
export const after = (key: PlantKey | undefined): Document => ({
  _id: { $ne: CHECKPOINT_ID, ...(key !== undefined && { $not: { $lte: toPlantId(key) } }) },
});

/**
 * Most bytes of the rows of one read, in BSON. A list in memory (SHORT_LIST) has hardly ever more: only the owner, who
 * is in each row, can be longer than the rest. Such a list takes several reads.
 */
const MOST_BYTES = 384 * 1024;

/** Bytes of BSON after which a read lets other work run before it decodes more: about 150 rows with usual texts. */
const DECODED_AT_ONCE = 16 * 1024;

/** How the replies to `firstRowsStages` are decoded: their rows stay in BSON. */
export const FOUND_ROWS = { ...BSON, fieldsAsRaw: { rows: true } } as const;

/** The one document of `firstRowsStages`, if there are any rows. */
export interface FoundRows {
  readonly _id: null;
  readonly rows: readonly Uint8Array[];
  /** Rows that were found, with those that were too much at once. */
  readonly count: number;
}

/**
 * Stages that select the first rows of a filter, in the order of their keys: at most `limit`. If these have more than
 * MOST_BYTES, only as many as would fit if all were as large as the largest. The server counts, so that no more is
 * sent; this costs it less than a running sum, and no second round trip.
 */
export const firstRowsStages = (filter: Document, limit: number): Document[] => [
  { $match: filter },
  { $sort: { _id: 1 } },
  { $limit: limit },
  { $set: { size: { $bsonSize: '$$ROOT' } } },
  {
    $group: {
      _id: null,
      ...{ rows: { $push: '$$ROOT' }, count: { $sum: 1 } },
      ...{ bytes: { $sum: '$size' }, largest: { $max: '$size' } },
    },
  },
  {
    $project: {
      count: 1,
      rows: { $cond: [{ $lte: ['$bytes', MOST_BYTES] }, '$rows', { $slice: ['$rows', FITTING] }] },
    },
  },
];

/** At least 1: the longest owner, name and tag have 4 KiB each. */
const FITTING = { $toInt: { $floor: { $divide: [MOST_BYTES, '$largest'] } } };

/**
 * The rows that `firstRowsStages` found, decoded over several turns of the event loop: all take it some milliseconds.
 */
export async function pageOf(found: FoundRows | undefined, limit: number): Promise<Page<OwnedRow>> {
  const { rows: encoded, count } = found ?? { rows: [], count: 0 };
  const rows: OwnedRow[] = [];
  let bytes = 0;
  for (const row of encoded) {
    if (bytes > DECODED_AT_ONCE) {
      bytes = 0;
      await yieldTurn();
    }
    bytes += row.length;
    rows.push(toRow(Codec.deserialize(row, BSON) as PlantDocument));
  }
  return { rows, whole: count < limit && rows.length === count };
}
