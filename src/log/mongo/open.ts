import { Long } from 'mongodb';
import type { Store } from '../store.ts';
import { CausalClock } from './causal-clock.ts';
import { createClient, databaseOf } from './client.ts';
import { collectionsOf, PRIMARY_ID } from './collections.ts';
import { Primary } from './primary.ts';
import { checkRequirements } from './requirements.ts';
import { ensureSchema } from './schema.ts';
import { MongoStore } from './store.ts';

/** How to use MongoDB. */
export interface MongoOptions {
  /** `head` holds even while a deposed primary has not noticed that it is one; each costs a majority write. */
  readonly strictReads?: boolean;
}

/**
 * Opens the store in the database that a URI names, and makes in it what is missing. Rejects with UnsuitableDatabaseError when
 * the store cannot keep its promises there, ever; with another error when the replica set cannot be reached, now.
 */
export async function openMongo(uri: string, { strictReads = false }: MongoOptions = {}): Promise<Store> {
  const client = createClient(uri);
  const db = databaseOf(client, uri);
  const clock = new CausalClock(client);
  const { meta } = collectionsOf(db);
  const primary = new Primary(client, strictReads, () =>
    clock.read((session) => meta.updateOne({ _id: PRIMARY_ID }, { $inc: { confirmations: Long.ONE } }, { session })),
  );
  try {
    await client.connect();
    await checkRequirements(db);
    await ensureSchema(db);
    return new MongoStore(client, db, clock, primary);
  } catch (error) {
    await client.close();
    throw error;
  }
}
