import { Long } from 'mongodb';
import type { Store } from '../store.ts';
import { collectionsOf, PRIMARY_ID } from './collections.ts';
import { withCallLimit } from './connection/call-limit.ts';
import { CausalClock } from './connection/causal-clock.ts';
import { createClient, databaseOf } from './connection/client.ts';
import { explain } from './connection/explain.ts';
import { Primary } from './connection/primary.ts';
import { checkJournal, checkServers } from './connection/requirements.ts';
import { checkSchema, ensureSchema } from './schema.ts';
import { mongoStore } from './store.ts';

/** Options of the MongoDB store. */
export interface MongoOptions {
  /** `head` is correct even while a deposed primary has not noticed its loss. Each call then costs a majority write. */
  readonly strictReads?: boolean;
  /**
   * Creates and changes nothing, so a database user with read access suffices. Right after a failover `head` may then
   * miss acknowledged events.
   */
  readonly readOnly?: boolean;
}

/** Most milliseconds of opening, which takes a dozen calls in an empty database. */
const OPEN_LIMIT = 60_000;

/**
 * Opens the store in the database of a URI, and creates what is missing. Rejects with UnsuitableDatabaseError when the
 * store can never keep its promises there, and with another error when the replica set cannot be reached now.
 */
export async function openMongo(uri: string, options: MongoOptions = {}): Promise<Store> {
  const { strictReads = false, readOnly = false } = options;
  const client = createClient(uri);
  const db = databaseOf(client, uri);
  const clock = new CausalClock(client);
  const { meta } = collectionsOf(db);
  // An update that matches nothing writes nothing, and confirms nothing: so a lost document is made anew.
  const confirm = () =>
    clock.run((session) =>
      meta.updateOne({ _id: PRIMARY_ID }, { $inc: { confirmations: Long.ONE } }, { session, upsert: true }),
    );
  const primary = new Primary(client, strictReads, readOnly ? async () => {} : confirm);
  const prepare = async () => {
    await client.connect();
    await checkServers(db);
    if (!readOnly) {
      await checkJournal(db);
      await ensureSchema(db);
    }
    await checkSchema(db);
  };
  try {
    await withCallLimit(prepare(), OPEN_LIMIT);
    return mongoStore(client, db, clock, primary);
  } catch (error) {
    await withCallLimit(client.close()).catch(() => {});
    throw explain(error);
  }
}
