import { randomBytes } from 'node:crypto';
import { type Db, Long } from 'mongodb';
import { LostRecordError } from '../store.ts';
import { CHECKPOINT_ID, type Collections, checkpointIn, collectionsOf } from './collections.ts';
import { CODE, ignoring } from './connection/errors.ts';
import { UnsuitableDatabaseError } from './connection/requirements.ts';
import { UNFINISHED } from './erasures.ts';

/** Version of the documents in the database. */
export const SCHEMA_VERSION = 5;

/** The version of 1.0.0, which upgrade.ts takes over. */
export const FORMER_VERSION = 4;

/**
 * Rejects with the reason, unless this release can read the database: with LostRecordError if the database has lost its
 * version, since a log under another id would begin, and with UnsuitableDatabaseError otherwise. `creates`: what the
 * store needs is created in a database without a store. Several instances may do so at once.
 */
export async function checkSchema(db: Db, creates = false): Promise<void> {
  const collections = collectionsOf(db);
  // Read first: no store has events before its version is written.
  const hasEvents = (await collections.events.findOne({}, { projection: { _id: 1 } })) !== null;
  const { version, isUpgrading } = (await collections.meta.findOne({ _id: 'schema' })) ?? {};
  if (version === FORMER_VERSION || isUpgrading)
    throw new UnsuitableDatabaseError(
      `database ${db.databaseName} has ${isUpgrading ? 'an unfinished upgrade' : `schema ${version}, that of release 1.0.0`}: stop all instances of the service, then run plantstore upgrade`,
    );
  if (version === undefined) {
    if (hasEvents) throw new LostRecordError('the version of its schema', 'schema in meta');
    if (!creates)
      throw new UnsuitableDatabaseError(
        `database ${db.databaseName} contains no plant store; the first start of the service makes one; if it has run before, correct MONGODB_URI`,
      );
    await createSchema(db, collections);
    return checkSchema(db);
  }
  await checkCollations(collections);
  if (version > SCHEMA_VERSION)
    throw new UnsuitableDatabaseError(
      `database ${db.databaseName} has schema ${version}, which a newer release wrote; this release knows ${SCHEMA_VERSION}`,
    );
  if (version < SCHEMA_VERSION)
    throw new UnsuitableDatabaseError(
      `database ${db.databaseName} has schema ${version}, from before the first release, which no release can read`,
    );
}

/**
 * Rejects if a collection compares texts by the rules of a language, as one can that was created before the first
 * start: two owners could be the same to the database, and the erasure of one would take the contents of both. It asks
 * the database to compare, since a reader's user may not see the options of a collection.
 */
async function checkCollations({ events, plants }: Collections): Promise<void> {
  const compare = [{ $facet: { any: [{ $limit: 1 }] } }, { $project: { isByBytes: { $lt: ['B', 'a'] } } }];
  for (const collection of [events, plants]) {
    const [found] = await collection.aggregate<{ isByBytes: boolean }>(compare).toArray();
    if (found?.isByBytes !== true)
      throw new UnsuitableDatabaseError(
        `the collection ${collection.collectionName} has a collation, by which two owners can be the same: restore the log into a database without such a collection`,
      );
  }
}

/** Each step is idempotent, and the version is written last. */
async function createSchema(db: Db, collections: Collections): Promise<void> {
  const { meta, ...others } = collections;
  // Transactions and snapshots need existing collections.
  for (const { collectionName } of [meta, ...Object.values(others)])
    await ignoring(CODE.namespaceExists, db.createCollection(collectionName));
  await createIndexes(collections);
  await ignoring(
    CODE.duplicateKey,
    checkpointIn(collections).insertOne({ _id: CHECKPOINT_ID, position: Long.ZERO, generation: Long.ZERO }),
  );
  await ignoring(CODE.duplicateKey, meta.insertOne({ _id: 'primary', confirmations: Long.ZERO }));
  await ignoring(CODE.duplicateKey, meta.insertOne({ _id: 'log', logId: randomBytes(16).toString('hex') }));
  await ignoring(CODE.duplicateKey, meta.insertOne({ _id: 'schema', version: SCHEMA_VERSION }));
}

/** The indexes of `events` besides `_id`. Each holds only what it says: other events cost nothing. */
export const INDEXES = [
  {
    name: 'events_by_idempotency_key',
    keys: { owner: 1, idempotencyKey: 1, _id: -1 },
    partialFilterExpression: { idempotencyKey: { $exists: true } },
  },
  { name: 'events_that_erase', keys: { 'erases.owner': 1 }, partialFilterExpression: UNFINISHED },
] as const;

/** By default, the server waits until every member has an index, however long one is away. */
export async function createIndexes({ events }: Collections): Promise<void> {
  for (const { keys, ...options } of INDEXES) await events.createIndex(keys, { ...options, commitQuorum: 'majority' });
}
