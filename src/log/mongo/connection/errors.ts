import {
  MongoError,
  MongoErrorLabel,
  MongoInvalidArgumentError,
  MongoMissingDependencyError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  type ServerDescription,
  type TopologyDescription,
} from 'mongodb';

/** The error codes of MongoDB that are handled. */
export const CODE = {
  /** Among others: an index that a read shall use is not there. */
  badValue: 2,
  unauthorized: 13,
  authenticationFailed: 18,
  namespaceNotFound: 26,
  namespaceExists: 48,
  documentValidation: 121,
  noMajorityReads: 148,
  duplicateKey: 11000,
} as const;

/** The error of the driver, also where `explain` has put it in words. */
const driverError = (error: unknown): unknown =>
  error instanceof Error && !(error instanceof MongoError) ? driverError(error.cause) : error;

/** Whether a server answered with this code. */
export function hasCode(error: unknown, code: number): boolean {
  const answer = driverError(error);
  return answer instanceof MongoServerError && answer.code === code;
}

/** Codes of names that no database can have: InvalidNamespace, DatabaseDifferCase. */
const UNNAMEABLE = new Set([73, 13297]);

/** Whether an error is that of an option or a database which MONGODB_URI names, and which no waiting changes. */
export function isOfUri(error: unknown): error is Error {
  if (error instanceof MongoServerError) return UNNAMEABLE.has(Number(error.code));
  return error instanceof MongoInvalidArgumentError || error instanceof MongoMissingDependencyError;
}

/** What a step resolves with. Undefined: it has failed with this code. */
export async function ignoring<T>(code: number, step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (error) {
    if (hasCode(error, code)) return undefined;
    throw error;
  }
}

/** Whether a transaction certainly did nothing, and may be retried from its start. */
export function isTransient(error: unknown): boolean {
  const fault = driverError(error);
  return fault instanceof MongoError && fault.hasErrorLabel(MongoErrorLabel.TransientTransactionError);
}

/** Codes of servers that shut down or are no longer the primary (MongoDB's specification of retryable reads). */
const GONE = new Set([6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

const isGone = (error: MongoServerError): boolean => GONE.has(Number(error.code));

/** The result of a read. Retries it once when its server went away, as the driver does with its own reads. */
export async function retried<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof MongoServerError ? isGone(error) : error instanceof MongoNetworkError)) throw error;
    return await read();
  }
}

/** Error codes of servers that were too slow: MaxTimeMSExpired, WriteConcernTimeout. */
const LATE = new Set([50, 64]);

/** Whether a server went away or was too slow, as the cause of an error too: later, the same call may succeed. */
export function isPassing(error: unknown): boolean {
  // A bulk write puts an error of the driver into one of a server.
  if (error instanceof MongoServerError && !((error.errorResponse as unknown) instanceof MongoError))
    return isGone(error) || LATE.has(Number(error.code)) || isTransient(error);
  return error instanceof MongoError || (error instanceof Error && isPassing(error.cause));
}

/**
 * Returns the error in words that say what to change, if it is one that an operator can end: no primary, a user or a
 * right that is missing, a name that nobody knows. The server's own words, which stay as the cause, may quote the
 * command, and so names of owners: the logger leaves that out. Returns any other error as it is.
 */
export function explain(error: unknown): unknown {
  const words = wordsFor(error);
  return words === undefined ? error : new Error(words, { cause: error });
}

function wordsFor(error: unknown): string | undefined {
  const answered = error instanceof MongoServerError ? error.code : undefined;
  if (answered === CODE.authenticationFailed)
    return 'MongoDB refuses the user of MONGODB_URI: correct its name and password, or set authSource= to the database that has the user, such as authSource=admin';
  if (answered === CODE.unauthorized) return missingRight((error as Error).message);
  if (error instanceof MongoServerSelectionError) return missingPrimary(error.reason);
  const { syscall, code, hostname, path } = error as NodeJS.ErrnoException & { hostname?: string };
  if (syscall === 'querySrv' || syscall === 'queryTxt')
    return `DNS does not answer for ${hostname ?? 'the host of MONGODB_URI'} (${code}): correct the host in MONGODB_URI, or name the members with mongodb://`;
  // The URI may name files of certificates.
  if (syscall === 'open' && path !== undefined) return `MONGODB_URI names ${path}, which cannot be read (${code})`;
  return undefined;
}

/** The server's message ends with the whole command. */
const COMMAND = /execute command \{ (\w+): (?:"([^"]*)"|[^"]*?\bcollection: "([^"]*)")?/;

function missingRight(message: string): string {
  if (message.includes('requires authentication'))
    return 'MongoDB asks for a user: put USER:PASSWORD@ before the hosts of MONGODB_URI';
  const [, command, named, continued] = COMMAND.exec(message) ?? [];
  const what = command === undefined ? 'lacks a right' : `may not run ${command}`;
  const collection = named ?? continued;
  const where = collection === undefined ? '' : ` on ${collection}`;
  return `the user of MONGODB_URI ${what}${where}: give it the role of docs/mongodb.md, or use a user who has it`;
}

function missingPrimary(reason: unknown): string | undefined {
  if (reason === undefined || !('servers' in (reason as object))) return undefined;
  const { servers, setName } = reason as TopologyDescription;
  return servers.size === 0 ? notMembers(setName) : unreachable([...servers.values()], setName);
}

/** The driver forgets the servers that are in another replica set, or in none. */
const notMembers = (setName: string | null): string =>
  setName === null
    ? 'no server of MONGODB_URI is a member of a replica set: start mongod with --replSet and initiate it'
    : `no server of MONGODB_URI is a member of the replica set ${setName}: set replicaSet= to the name that rs.status() shows, and do not connect to a mongos`;

const unreachable = (servers: readonly ServerDescription[], setName: string | null): string =>
  `no primary of MONGODB_URI can be reached: ${servers.map((server) => `${server.address} ${stateOf(server, setName)}`).join('; ')}`;

function stateOf({ type, error }: ServerDescription, setName: string | null): string {
  switch (type) {
    case 'RSGhost':
      return 'is in no replica set yet: run rs.initiate() on it, once';
    case 'RSSecondary':
      return 'is a secondary, and the set has no primary now';
    case 'Unknown':
      if (error !== null) return `does not answer (${error.message})`;
      // With directConnection, also a server of another set.
      return setName === null ? 'does not answer' : `does not answer as a member of the replica set ${setName}`;
    default:
      return `is a ${type}`;
  }
}
