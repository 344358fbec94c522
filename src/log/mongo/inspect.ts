import type { Db } from 'mongodb';
import type { HeldLease, Inspection } from '../inspection.ts';
import { type Collections, collectionsOf } from './collections.ts';
import { withCallLimit } from './connection/call-limit.ts';
import { createClient, databaseOf } from './connection/client.ts';
import { checkJournal, checkServers, ifPermitted } from './connection/requirements.ts';
import { explainUnreachable } from './connection/unreachable.ts';
import { checkSchema, ERASES_INDEX, KEYS_INDEX, SCHEMA_VERSION } from './schema.ts';

/** Most milliseconds of an inspection. */
const LIMIT = 30_000;
/** Readings of the server's clock. The fastest one is the most precise. */
const CLOCK_LOOKS = 3;

/**
 * Inspects the database of a URI. Rejects with UnsuitableDatabaseError when the servers cannot keep the store's
 * promises or the database holds no store of this release, and with another error when they cannot be asked.
 */
export async function inspectMongo(uri: string): Promise<Inspection> {
  const client = createClient(uri);
  const db = databaseOf(client, uri);
  try {
    return await withCallLimit(inspected(db), LIMIT);
  } catch (error) {
    throw explainUnreachable(error);
  } finally {
    await withCallLimit(client.close()).catch(() => {});
  }
}

async function inspected(db: Db): Promise<Inspection> {
  await checkServers(db);
  await ifPermitted(checkJournal(db));
  await checkSchema(db);
  const collections = collectionsOf(db);
  const indexes = await collections.events.indexes();
  return {
    schema: SCHEMA_VERSION,
    leases: await leasesOf(collections),
    missing: [KEYS_INDEX, ERASES_INDEX].filter((wanted) => indexes.every(({ name }) => name !== wanted)),
    clockAhead: await clockAhead(db),
  };
}

/** The leases that were ever taken. Uses the server's clock for the remaining time, as the leases do. */
export const leasesOf = ({ leases }: Collections): Promise<HeldLease[]> =>
  leases
    .aggregate([
      {
        $project: {
          _id: 0,
          name: '$_id',
          holder: 1,
          left: { $toDouble: { $subtract: ['$until', '$$NOW'] } },
          // Nothing else of the contact, which holds a secret.
          address: '$contact.address',
        },
      },
    ])
    .map(({ name, holder, left, address }) => ({ name, holder, left: Number(left), address }))
    .toArray();

async function clockAhead(db: Db): Promise<number> {
  let [ahead, fastest] = [0, Number.POSITIVE_INFINITY];
  for (let look = 0; look < CLOCK_LOOKS; look++) {
    const [asked, clock] = [performance.now(), Date.now()];
    const { localTime } = await db.admin().command({ hello: 1 });
    const took = performance.now() - asked;
    if (took < fastest) [ahead, fastest] = [localTime.getTime() - (clock + took / 2), took];
  }
  return ahead;
}
