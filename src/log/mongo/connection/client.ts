import { type Db, MongoClient, type MongoClientOptions, ReadConcern } from 'mongodb';
import { UnsuitableDatabaseError } from './requirements.ts';

/**
 * Milliseconds that the server may take for one command. The server then answers with an error before the connection is
 * given up.
 */
export const COMMAND_LIMIT = 4_000;

/**
 * How values are encoded: int64 as Long of any size, and undefined members are omitted. Plain commands need these
 * options again. (useBigInt64 would be simpler. But up to 7.8 at least, the driver copies the bigint of a server's "not
 * primary" error into its monitoring, which cannot handle it and ends the process.)
 */
export const BSON = { promoteLongs: false, ignoreUndefined: true } as const;

/**
 * Options of the MongoDB client. They override the URI.
 *
 * The client waits 3 s for a primary, 3 s for a connection and 5 s for an answer; call-limit.ts ends calls that hang
 * beyond that. The driver retries reads, commits and aborts once, and no other writes. Whether a write took place is
 * read from the log, the checkpoint or the lease, by the same rules for every fault.
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

/** Writes wait for the journals of a majority. */
export const WRITE_CONCERN = { w: 'majority', journal: true, wtimeoutMS: COMMAND_LIMIT } as const;

/** The database when the URI names none. */
const DEFAULT_DATABASE = 'plantstore';

/** A client that is not connected yet. Throws UnsuitableDatabaseError when the driver cannot parse the URI. */
export function createClient(uri: string): MongoClient {
  return parsed(() => new MongoClient(uri, CLIENT));
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UnsuitableDatabaseError(`MONGODB_URI is not valid: ${(error as Error).message}`);
  }
}

/**
 * The database named in the URI's path. It sets its own concerns, so that no option of the URI weakens them. Throws
 * UnsuitableDatabaseError when no database can have the name.
 */
export function databaseOf(client: MongoClient, uri: string): Db {
  const named = /^[^/]*\/\/[^/?]*\/([^?]+)/.exec(uri)?.[1];
  const name = named === undefined ? DEFAULT_DATABASE : decodeURIComponent(named);
  return parsed(() =>
    client.db(name, {
      readPreference: 'primary',
      // Not shared with another client: the driver writes the time of a causal read into this object.
      readConcern: new ReadConcern('majority'),
      writeConcern: WRITE_CONCERN,
      ...BSON,
    }),
  );
}
