import type { Db } from 'mongodb';
import { collectionsOf, PLANTS_CHECKPOINT, rebuildOf } from '../collections.ts';
import { withCallLimit } from '../connection/call-limit.ts';
import { CODE, ignoring } from '../connection/errors.ts';

/**
 * Names of the collections of rows that nobody reads or builds, and never will: what a rebuild leaves that is killed before it has
 * tidied up. No name is used twice, so it holds whatever happens meanwhile: a rebuild that begins has a higher number than any that
 * the checkpoint knew, and one that ends puts in place what the checkpoint named.
 */
export async function unusedRows(db: Db): Promise<string[]> {
  const checkpoint = await withCallLimit(collectionsOf(db).checkpoints.findOne({ _id: PLANTS_CHECKPOINT }));
  if (checkpoint === null) return [];
  const { rebuilds, collection, building } = checkpoint;
  // What is asked for with these options needs no right of its own.
  const found = await withCallLimit(db.listCollections({}, { nameOnly: true, authorizedCollections: true }).toArray());
  return found
    .map(({ name }) => name)
    .filter((name) => (rebuildOf(name) ?? Number.POSITIVE_INFINITY) <= rebuilds)
    .filter((name) => name !== collection && name !== building);
}

/** Drops the collections of unusedRows, whoever else does the same. */
export async function dropUnusedRows(db: Db): Promise<void> {
  for (const name of await unusedRows(db))
    await ignoring(CODE.namespaceNotFound, withCallLimit(db.dropCollection(name)));
}
