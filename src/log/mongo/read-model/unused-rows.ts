import type { Db } from 'mongodb';
import { collectionsOf, PLANTS_CHECKPOINT, rebuildOf } from '../collections.ts';
import { withCallLimit } from '../connection/call-limit.ts';
import { CODE, ignoring } from '../connection/errors.ts';

/**
 * Names of the collections of rows that are not read or built, and never will be: leftovers of rebuilds that were
 * killed before their cleanup. No name is used twice, so the answer stays true. A later rebuild has a higher number
 * than any that the checkpoint knew, and a rebuild that ends swaps in a collection that the checkpoint named.
 */
export async function unusedRows(db: Db): Promise<string[]> {
  const checkpoint = await withCallLimit(collectionsOf(db).checkpoints.findOne({ _id: PLANTS_CHECKPOINT }));
  if (checkpoint === null) return [];
  const { rebuilds, collection, building } = checkpoint;
  // With these options the call needs no extra permission.
  const found = await withCallLimit(db.listCollections({}, { nameOnly: true, authorizedCollections: true }).toArray());
  return found
    .map(({ name }) => name)
    .filter((name) => (rebuildOf(name) ?? Number.POSITIVE_INFINITY) <= rebuilds)
    .filter((name) => name !== collection && name !== building);
}

/** Drops the collections of unusedRows. Several instances may do so at once. */
export async function dropUnusedRows(db: Db): Promise<void> {
  for (const name of await unusedRows(db))
    await ignoring(CODE.namespaceNotFound, withCallLimit(db.dropCollection(name)));
}
