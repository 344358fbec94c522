import { MongoServerSelectionError, type TopologyDescription } from 'mongodb';

/**
 * Returns the error. If it says that no primary was found, adds the servers that were asked and, where known, the
 * remedy.
 */
export function explained(error: unknown): unknown {
  const topology = error instanceof MongoServerSelectionError ? error.reason : undefined;
  if (topology === undefined || !('servers' in topology)) return error;
  const servers = [...(topology as TopologyDescription).servers.values()];
  const found = servers.map((server) => `${server.address} ${stateOf(server)}`).join('; ');
  return new Error(`no primary of MONGODB_URI can be reached: ${found}`, { cause: error });
}

function stateOf({ type, error }: { readonly type: string; readonly error: Error | null }): string {
  switch (type) {
    case 'RSGhost':
      return 'is in no replica set yet: run rs.initiate() on it, once';
    case 'RSSecondary':
      return 'is a secondary, and the set has no primary now';
    case 'Unknown':
      return error === null ? 'does not answer' : `does not answer (${error.message})`;
    default:
      return `is a ${type}`;
  }
}
