import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
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

/** A MongoDB store in a database of its own. */
export async function openMongoStore(): Promise<OpenedMongo> {
  const uri = newDatabase();
  const handles: Store[] = [];
  const handle = async () => {
    const store = await openMongo(uri);
    handles.push(store);
    return store;
  };
  const cleanup = async () => {
    for (const store of handles) await store.close();
    await dropDatabase(uri);
  };
  const database = async () => openMongoDatabase(uri);
  return { uri, database, store: await handle(), reopen: handle, second: handle, cleanup };
}
