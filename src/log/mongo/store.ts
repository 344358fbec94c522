import { randomBytes } from 'node:crypto';
import { Binary, type Db, Long, type MongoClient } from 'mongodb';
import { type Fault, LostRecordError, type Store } from '../store.ts';
import { type Collections, collectionsOf } from './collections.ts';
import { CausalClock } from './connection/causal-clock.ts';
import { COMMAND_LIMIT, createClient, databaseOf, invalidUri, withCallLimit } from './connection/client.ts';
import { CODE, hasCode, isOfUri } from './connection/errors.ts';
import { Primary } from './connection/primary.ts';
import { checkServers, UnsuitableDatabaseError } from './connection/requirements.ts';
import { Transactions } from './connection/transactions.ts';
import { OTHER_ID } from './documents.ts';
import { mongoErasures } from './erasures.ts';
import { mongoEvents } from './events.ts';
import { mongoLeases } from './leases.ts';
import { mongoReadModel } from './read-model/read-model.ts';
import { missingRights } from './rights.ts';
import { checkSchema, INDEXES } from './schema.ts';

/**
 * The log and the read model in a MongoDB replica set: the methods of its parts. Takes ownership of a connected client.
 * `db` must have what createSchema creates.
 */
function mongoStore(client: MongoClient, db: Db, clock: CausalClock, primary: Primary): Store {
  const collections = collectionsOf(db);
  const transactions = new Transactions(client, db, clock);
  let isClosed = false;
  return {
    name: `MongoDB ${client.options.hosts.join()}/${db.databaseName}`,
    advanceLimit: 2_000,
    logId: () => logIdIn(collections, clock),
    ownerKey: (renew) => ownerKeyIn(collections, clock, renew),
    ...mongoEvents(db, clock, primary),
    ...mongoReadModel(db, clock, primary, transactions),
    ...mongoLeases(collections, clock, transactions),
    ...mongoErasures(collections, clock),
    fault: () => faultIn(db, clock),
    missingRights: () => missingRights(db),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await transactions.close();
      await withCallLimit(client.close());
    },
  };
}

async function logIdIn({ meta }: Collections, clock: CausalClock): Promise<string> {
  const found = await clock.run((session) => meta.findOne({ _id: 'log' }, { session }));
  if (found?.logId === undefined) throw new LostRecordError('the id of its log', 'log in meta');
  return found.logId;
}

async function ownerKeyIn({ meta }: Collections, clock: CausalClock, renew = false): Promise<Uint8Array> {
  const key = new Binary(randomBytes(32));
  const update = renew ? { $set: { key } } : { $setOnInsert: { key } };
  const options = { upsert: true, returnDocument: 'after' } as const;
  const found = await clock.run((session) => meta.findOneAndUpdate({ _id: 'owners' }, update, { ...options, session }));
  return found!.key!.value();
}

/**
 * Whatever no read by positions meets, such as a string: MongoDB compares values of one type alone. It takes two seeks
 * in the index. To find a number of another type than int64, which reads meet, would take the whole index.
 */
const UNREAD = { _id: { $not: { $gte: Long.MIN_VALUE } } };

const ONE_ID = { projection: { _id: 1 }, maxTimeMS: COMMAND_LIMIT };

/** The name of an index that is gone. It asks by reads, since an auditor's user may not list indexes. */
async function lostIndex({ events }: Pick<Collections, 'events'>, clock: CausalClock): Promise<string | undefined> {
  for (const { name, partialFilterExpression } of INDEXES)
    try {
      await clock.run((session) => events.findOne(partialFilterExpression, { ...ONE_ID, hint: name, session }));
    } catch (error) {
      if (hasCode(error, CODE.badValue)) return name;
      throw error;
    }
  return undefined;
}

/** A collection or an index that is gone, or a document of `events` that no read by positions meets. */
async function faultIn(db: Db, clock: CausalClock): Promise<Fault | undefined> {
  // An auditor's user may not read `leases`, and so does not see whether they are there.
  const { leases: _, ...collections } = collectionsOf(db);
  const listed = db.listCollections({}, { nameOnly: true, authorizedCollections: true }).toArray();
  const there = await withCallLimit(listed);
  const gone = Object.keys(collections).filter((collection) => !there.some(({ name }) => name === collection));
  if (gone.length > 0) return { message: `gone: ${gone.join(', ')}` };
  const index = await lostIndex(collections, clock);
  if (index !== undefined)
    return { message: `gone: the index ${index} of events, or it is hidden: docs/mongodb.md says how to create it` };
  const found = await clock.run((session) => collections.events.findOne(UNREAD, { ...ONE_ID, session }));
  return found === null ? undefined : { message: OTHER_ID };
}

/** Options of the MongoDB store. */
export interface MongoOptions {
  /** `head` is correct even while a deposed primary has not noticed its loss. Each call then costs a majority write. */
  readonly strictReads?: boolean;
  /** Changes nothing, so that read access suffices. After a failover `head` may miss acknowledged events. */
  readonly readOnly?: boolean;
  /** Rejects with UnsuitableDatabaseError if the database has no store, as with `readOnly`. */
  readonly mustExist?: boolean;
}

/** Most milliseconds of opening, which takes a dozen calls in an empty database. */
const OPEN_LIMIT = 60_000;

/** A client that is not connected yet, its database, and the store in it, for when the client is connected. */
export function unconnected(
  uri: string,
  { strictReads = false, readOnly = false }: MongoOptions,
): { readonly client: MongoClient; readonly db: Db; readonly store: () => Store } {
  const client = createClient(uri);
  const db = databaseOf(client, uri);
  const clock = new CausalClock(client);
  const { meta } = collectionsOf(db);
  // An update that matches nothing writes nothing, and confirms nothing: so a lost document is made anew.
  const confirm = () =>
    clock.run((session) =>
      meta.updateOne({ _id: 'primary' }, { $inc: { confirmations: Long.ONE } }, { session, upsert: true }),
    );
  const primary = new Primary(client, strictReads, readOnly ? async () => {} : confirm);
  return { client, db, store: () => mongoStore(client, db, clock, primary) };
}

/**
 * Opens the store in the database of a URI, and creates a missing one by default. Rejects with UnsuitableDatabaseError
 * when the store can never keep its promises there, and with another error when the replica set cannot be reached now.
 */
export async function openMongo(uri: string, options: MongoOptions = {}): Promise<Store> {
  const { client, db, store } = unconnected(uri, options);
  const prepare = async () => {
    await client.connect();
    await checkServers(db);
    await checkSchema(db, !options.readOnly && !options.mustExist);
  };
  try {
    await withCallLimit(prepare(), OPEN_LIMIT);
    return store();
  } catch (error) {
    await withCallLimit(client.close()).catch(() => {});
    if (isOfUri(error)) throw invalidUri(error);
    if (!hasCode(error, CODE.noMajorityReads)) throw error;
    throw new UnsuitableDatabaseError(
      'MongoDB keeps no journal, and so cannot read what a majority has: use a storage engine that does, such as WiredTiger',
    );
  }
}
