import { type Db, MongoClient, type MongoClientOptions, ReadConcern } from 'mongodb';
import { UnsuitableDatabaseError } from './unsuitable-database.ts';

/** Milliseconds that the server may take for one command: it then answers so, before the connection is given up. */
export const COMMAND_LIMIT = 4_000;

/**
 * How values go over: int64 as Long, whatever its size, and what is undefined is left out. Plain commands want it said again.
 * (useBigInt64 would be handier. But the driver, up to 7.8 at least, takes the bigint in a server's "not primary" over into its
 * monitoring, which cannot handle it and ends the process.)
 */
export const BSON = { promoteLongs: false, ignoreUndefined: true } as const;

/**
 * How to talk to MongoDB. What is given here wins over the URI.
 *
 * It waits 3 s for a primary, 3 s for a connection and 5 s for an answer; limited.ts ends what hangs all the same. The driver tries
 * reads, commits and aborts once more, and no other writes: whether a write took place is told by the log, the checkpoint or the
 * lease, by the same rules whatever the fault.
 */
const CLIENT: MongoClientOptions = {
  appName: 'plantstore',
  retryReads: true,
  retryWrites: false,
  serverSelectionTimeoutMS: 3_000,
  waitQueueTimeoutMS: 3_000,
  connectTimeoutMS: 3_000,
  socketTimeoutMS: 5_000,
};

/** What writes wait for: the journals of a majority. */
export const WRITE_CONCERN = { w: 'majority', journal: true, wtimeoutMS: COMMAND_LIMIT } as const;

/** The database when the URI names none. */
const DEFAULT_DATABASE = 'plantstore';

/** A client that is not connected yet. Throws UnsuitableDatabaseError when the URI is none that the driver understands. */
export function createClient(uri: string): MongoClient {
  try {
    return new MongoClient(uri, CLIENT);
  } catch (error) {
    throw new UnsuitableDatabaseError(`the MongoDB URI is not valid: ${(error as Error).message}`);
  }
}

/** The database that the URI names in its path. Concerns are its own, so that no option of the URI weakens them. */
export function databaseOf(client: MongoClient, uri: string): Db {
  const named = /^[^/]*\/\/[^/?]*\/([^?]+)/.exec(uri)?.[1];
  return client.db(named === undefined ? DEFAULT_DATABASE : decodeURIComponent(named), {
    readPreference: 'primary',
    // Not shared with another client: the driver puts the time of a causal read into this very object.
    readConcern: new ReadConcern('majority'),
    writeConcern: WRITE_CONCERN,
    ...BSON,
  });
}
