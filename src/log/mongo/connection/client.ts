import { type Db, MongoClient, type MongoClientOptions, MongoOperationTimeoutError, ReadConcern } from 'mongodb';
import { withTimeout } from '../../../time/pause.ts';
import { explain } from './errors.ts';
import { UnsuitableDatabaseError } from './requirements.ts';

/**
 * Milliseconds after which a call is given up: the longest that the driver waits for a primary and for an answer. The
 * call may still be running and take effect. Its own filter must keep it from doing harm.
 */
const CALL_LIMIT = 8_000;

/** Limit for a call within a transaction. The driver's attempt ends before it (11 s), so the call is over then. */
export const WITHIN_TRANSACTION = 12_000;

/**
 * Limit for the commit or the abort of a transaction, which the driver tries twice. A call still running after it was
 * given up would end the next transaction of its session.
 */
export const END_OF_TRANSACTION = 25_000;

/**
 * Limits the time of a call of the driver, whatever the driver does with it. The driver's own limits leave a gap: when
 * it writes a command to a connection that is closing at that moment, it waits for a "drain" event for ever (7.8 and
 * 7.9: `writeCommand` listens for "drain" and "error", not for "close"). Every shared read and every batch after a
 * commit would wait with it.
 *
 * Rejects then with an error that, like a lost connection, says nothing about what the server did. The driver keeps
 * counting such a connection as in use: one of the hundred in its pool. Errors of the driver are in words; see explain.
 */
export async function withCallLimit<T>(call: Promise<T>, milliseconds = CALL_LIMIT): Promise<T> {
  const late = () => new MongoOperationTimeoutError(`MongoDB's driver has not ended a call in ${milliseconds} ms`);
  try {
    return await withTimeout(call, milliseconds, late);
  } catch (error) {
    throw explain(error);
  }
}

/** Milliseconds that the server may take for one command: it then answers before the connection is given up. */
export const COMMAND_LIMIT = 4_000;

/** The driver's own encoding, said in full: an option of the URI holds where nothing else is said. */
const ENCODING = {
  ...{
    raw: false,
    fieldsAsRaw: {},
    useBigInt64: false,
    promoteLongs: true,
    promoteValues: true,
    promoteBuffers: false,
  },
  ...{ bsonRegExp: false, serializeFunctions: false, ignoreUndefined: false, enableUtf8Validation: true },
} as const;

/**
 * How values are encoded: int64 as Long of any size, and undefined members are omitted. Plain commands need these
 * options again. (useBigInt64 would be simpler. But up to 7.8 at least, the driver copies the bigint of a server's "not
 * primary" error into its monitoring, which cannot handle it and ends the process.)
 */
export const BSON = { ...ENCODING, promoteLongs: false, ignoreUndefined: true } as const;

/**
 * Options of the MongoDB client. They override the URI.
 *
 * The client waits 3 s for a primary, 3 s for a connection and 5 s for an answer; withCallLimit ends calls that hang
 * beyond that. The driver retries reads, commits and aborts once, and no other writes. Whether a write took place is
 * read from the log, the checkpoint or the lease, by the same rules for every fault.
 */
const CLIENT: MongoClientOptions = {
  appName: 'plantstore',
  ...ENCODING,
  // So that a peak keeps no hundred connections of each client open for good.
  maxIdleTimeMS: 5 * 60_000,
  readPreference: 'primary',
  retryReads: true,
  retryWrites: false,
  serverSelectionTimeoutMS: 3_000,
  waitQueueTimeoutMS: 3_000,
  connectTimeoutMS: 3_000,
  socketTimeoutMS: 5_000,
};

/** Writes wait for the journals of a majority. */
export const WRITE_CONCERN = { w: 'majority', journal: true, wtimeoutMS: COMMAND_LIMIT } as const;

const DEFAULT_DATABASE = 'plantstore';

/** Databases in which the server runs no transaction, so that the read model would never move. */
const WITHOUT_TRANSACTIONS: ReadonlySet<string> = new Set(['config', 'local']);

/** A client that is not connected yet. Throws UnsuitableDatabaseError when the driver cannot parse the URI. */
export function createClient(uri: string): MongoClient {
  return parsed(() => new MongoClient(uri, CLIENT));
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw invalidUri(error as Error);
  }
}

/** The error for a URI that can never be used. */
export const invalidUri = ({ message }: Error): UnsuitableDatabaseError =>
  new UnsuitableDatabaseError(`MONGODB_URI is not valid: ${message}`);

/**
 * The database named in the URI's path. It sets its own concerns, so that no option of the URI weakens them. Throws
 * UnsuitableDatabaseError when no database can have the name.
 */
export function databaseOf(client: MongoClient, uri: string): Db {
  const named = /^[^/]*\/\/[^/?]*\/([^?]+)/.exec(uri)?.[1];
  const name = named === undefined ? DEFAULT_DATABASE : decodeURIComponent(named);
  if (WITHOUT_TRANSACTIONS.has(name))
    throw new UnsuitableDatabaseError(
      `MONGODB_URI names the database ${name}, which MongoDB keeps for itself: name another, such as ${DEFAULT_DATABASE}`,
    );
  return parsed(() =>
    client.db(name, {
      // Not shared with another client: the driver writes the time of a causal read into this object.
      readConcern: new ReadConcern('majority'),
      writeConcern: WRITE_CONCERN,
      ...BSON,
    }),
  );
}
