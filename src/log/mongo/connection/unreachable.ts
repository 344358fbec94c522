import { MongoServerSelectionError, type TopologyDescription } from 'mongodb';

/**
 * Returns the error. If it says that no primary was found, says instead what each server answered and, where known, the
 * remedy.
 */
export function explainUnreachable(error: unknown): unknown {
  const topology = error instanceof MongoServerSelectionError ? error.reason : undefined;
  if (topology === undefined || !('servers' in topology)) return error;
  const { servers, setName } = topology as TopologyDescription;
  return new Error(servers.size === 0 ? notMembers(setName) : unreachable([...servers.values()], setName), {
    cause: error,
  });
}

/** The driver forgets the servers that are in another replica set, or in none. */
const notMembers = (setName: string | null): string =>
  setName === null
    ? 'no server of MONGODB_URI is a member of a replica set: start mongod with --replSet and initiate it'
    : `no server of MONGODB_URI is a member of the replica set ${setName}: set replicaSet= to the name that rs.status() shows`;

const unreachable = (servers: readonly ServerState[], setName: string | null): string =>
  `no primary of MONGODB_URI can be reached: ${servers.map((server) => `${server.address} ${stateOf(server, setName)}`).join('; ')}`;

interface ServerState {
  readonly address: string;
  readonly type: string;
  readonly error: Error | null;
}

function stateOf({ type, error }: ServerState, setName: string | null): string {
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
