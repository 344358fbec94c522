import { type Db, Long } from 'mongodb';
import { collectionsOf } from './collections.ts';
import type { CausalClock } from './connection/causal-clock.ts';
import { COMMAND_LIMIT } from './connection/client.ts';

/** Of any other type than a number, too: MongoDB compares values of one type alone. It takes two seeks in the index. */
const NO_POSITION = { _id: { $not: { $gte: Long.MIN_VALUE } } };

/** A collection that is gone, or a document of `events` that no read by positions meets. Undefined: there is none. */
export async function faultIn(db: Db, clock: CausalClock): Promise<string | undefined> {
  // An auditor's user may not read `leases`, and so does not see whether they are there.
  const { leases: _, ...collections } = collectionsOf(db);
  const there = await db.listCollections({}, { nameOnly: true, authorizedCollections: true }).toArray();
  const gone = Object.keys(collections).filter((collection) => !there.some(({ name }) => name === collection));
  if (gone.length > 0) return `gone: ${gone.join(', ')}`;
  const options = { projection: { _id: 1 }, maxTimeMS: COMMAND_LIMIT };
  const found = await clock.run((session) => collections.events.findOne(NO_POSITION, { ...options, session }));
  return found === null
    ? undefined
    : 'a document of `events` has an _id that is no position: docs/mongodb.md says how to find it';
}
