import { type Db, Long } from 'mongodb';
import {
  type Collections,
  collectionsOf,
  PLANTS_CHECKPOINT,
  PRIMARY_ID,
  plantsCollection,
  SCHEMA_ID,
} from './collections.ts';
import { CODE, hasCode } from './errors.ts';
import { UnsuitableDatabaseError } from './requirements.ts';

/** Version of the documents in the database. */
const SCHEMA_VERSION = 1;

/** Makes what the store needs in a database, unless it is there; several instances may do so at once. */
export async function ensureSchema(db: Db): Promise<void> {
  const collections = collectionsOf(db);
  if ((await versionOf(collections)) === undefined) await createSchema(db, collections);
}

/** Rejects with UnsuitableDatabaseError, and the reason, unless the database holds what this release works with. */
export async function checkSchema(db: Db): Promise<void> {
  const version = await versionOf(collectionsOf(db));
  if (version === undefined) throw new UnsuitableDatabaseError(`database ${db.databaseName} holds no plant store`);
  if (version > SCHEMA_VERSION)
    throw new UnsuitableDatabaseError(
      `database ${db.databaseName} has schema ${version}, which a newer release wrote; this release knows ${SCHEMA_VERSION}`,
    );
}

const versionOf = async ({ meta }: Collections): Promise<number | undefined> =>
  (await meta.findOne({ _id: SCHEMA_ID }))?.version;

/** Each step does nothing where it was done before, and the version comes last. */
async function createSchema(db: Db, { events, checkpoints, leases, meta }: Collections): Promise<void> {
  const plants = plantsCollection(0);
  // Transactions and snapshots want collections that exist.
  const names = [meta, events, checkpoints, leases].map(({ collectionName }) => collectionName);
  for (const name of [...names, plants]) await ignoring(CODE.namespaceExists, db.createCollection(name));
  await ignoring(
    CODE.duplicateKey,
    checkpoints.insertOne({ _id: PLANTS_CHECKPOINT, position: Long.ZERO, collection: plants, rebuilds: 0 }),
  );
  await ignoring(CODE.duplicateKey, meta.insertOne({ _id: PRIMARY_ID, confirmations: Long.ZERO }));
  await ignoring(CODE.duplicateKey, meta.insertOne({ _id: SCHEMA_ID, version: SCHEMA_VERSION }));
}

async function ignoring(code: number, step: Promise<unknown>): Promise<void> {
  try {
    await step;
  } catch (error) {
    if (!hasCode(error, code)) throw error;
  }
}
