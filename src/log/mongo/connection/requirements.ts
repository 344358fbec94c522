import type { Db } from 'mongodb';
import { CODE, ignoring } from './errors.ts';

/** Wire version of MongoDB 6.0. */
const OLDEST_WIRE_VERSION = 17;

/** Rejects with UnsuitableDatabaseError and the reason, unless the servers can keep the store's promises. */
export async function checkServers(db: Db): Promise<void> {
  const admin = db.admin();
  const hello = await admin.command({ hello: 1 });
  if (hello.msg === 'isdbgrid')
    throw new UnsuitableDatabaseError('MongoDB is a sharded cluster: connect to a replica set, without mongos');
  if (hello.setName === undefined)
    throw new UnsuitableDatabaseError(
      'MongoDB is not a replica set: start mongod with --replSet and initiate it; one member is enough',
    );
  if (hello.maxWireVersion < OLDEST_WIRE_VERSION)
    throw new UnsuitableDatabaseError('MongoDB is too old: the service needs 6.0 or newer');
  // The role clusterMonitor permits it.
  const settings = await ignoring(CODE.unauthorized, admin.command({ replSetGetConfig: 1 }));
  if (settings?.config.writeConcernMajorityJournalDefault === false)
    throw new UnsuitableDatabaseError(
      'MongoDB acknowledges writes before they are in the journal: set writeConcernMajorityJournalDefault to true in the replica set configuration',
    );
}

/** The store can never keep its promises on this database. Retrying is useless. */
export class UnsuitableDatabaseError extends Error {
  override readonly name = 'UnsuitableDatabaseError';
}
