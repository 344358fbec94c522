import { randomUUID } from 'node:crypto';
import { type Db, MongoClient } from 'mongodb';
import { inject } from 'vitest';
import { openMongo } from '../../src/log/mongo/store.ts';
import type { Store } from '../../src/log/store.ts';
import { openMongoDatabase } from './mongo-database.ts';
import type { OpenedStore } from './open-store.ts';

/** A MongoDB store, and its database to tamper with. */
export interface OpenedMongo extends OpenedStore {
  readonly uri: string;
  database(): Promise<ReturnType<typeof openMongoDatabase>>;
}

/** Whether there is a MongoDB to test with. */
export const HAS_MONGODB = inject('mongodbUri') !== undefined;

/** URI of a database that nothing else uses, in the replica set of this run. */
export const newDatabase = (): string =>
  inject('mongodbUri')!.replace(/^([^/]*\/\/[^/?]+)(\/[^?]*)?/, `$1/plantstore-${randomUUID()}`);

/** Removes the database that a URI names. */
export async function dropDatabase(uri: string): Promise<void> {
  const client = new MongoClient(uri);
  await client.db().dropDatabase();
  await client.close();
}

/**
 * Emptied databases, the oldest first. To create and to drop a database costs as much as a short test; to open an empty
 * one writes the same documents.
 */
const emptied: string[] = [];
/** Databases that are left alone for a while, so that what is still on its way to one meets no other test. */
const RESTING = 4;

/** The collections of a new store. */
const COLLECTIONS = 'checkpoints,erasures,events,leases,meta,plants,tree';

/** Removes all documents of the database that a URI names. One that differs from a new one is dropped. */
async function emptyDatabase(uri: string): Promise<void> {
  const client = new MongoClient(uri);
  const db = client.db();
  if (await isAsNew(db)) {
    await Promise.all(COLLECTIONS.split(',').map((name) => db.collection(name).deleteMany({})));
    emptied.push(uri);
  } else await db.dropDatabase();
  await client.close();
}

async function isAsNew(db: Db): Promise<boolean> {
  const collections = await db.listCollections({}, { nameOnly: false }).toArray();
  if (
    collections
      .map(({ name }) => name)
      .toSorted()
      .join() !== COLLECTIONS
  )
    return false;
  if (collections.some(({ options }) => Object.keys(options ?? {}).length > 0)) return false;
  return (await db.collection('events').indexes()).length === 2;
}

/** A MongoDB store in a database of its own. */
export async function openMongoStore(): Promise<OpenedMongo> {
  const uri = emptied.length > RESTING ? emptied.shift()! : newDatabase();
  const handles: Store[] = [];
  const handle = async () => {
    const store = await openMongo(uri);
    handles.push(store);
    return store;
  };
  const cleanup = async () => {
    for (const store of handles) await store.close();
    await emptyDatabase(uri);
  };
  const database = async () => openMongoDatabase(uri);
  return { uri, database, store: await handle(), reopen: handle, second: handle, cleanup };
}
