import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type Server, startServer } from './server.ts';

const BIN = join(import.meta.dirname, '../../bin/plantstore.js');

/** Our service, on free ports. */
export interface PlantStore extends Server {
  /** Host and port of its gRPC. */
  readonly grpcAddress: string;
}

/** Starts our service and waits until it listens. */
export async function plantstore(directory: string, env: Record<string, string>): Promise<PlantStore> {
  const addresses = new Map<string, string>();
  const server = await startServer(
    'plantstore',
    process.execPath,
    [BIN, 'serve'],
    { DATA_DIR: directory, PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', DRAIN_GRACE: '0', LOG_LEVEL: 'info', ...env },
    (line) => {
      const [, protocol, address] = /"protocol":"(\w+)","address":"([^"]+)"/.exec(line) ?? [];
      if (protocol !== undefined) addresses.set(protocol, address!);
      return addresses.has('grpc') ? addresses.get('rest') : undefined;
    },
  );
  return { ...server, grpcAddress: addresses.get('grpc')! };
}

/** A token of development mode for the service that has its data in a directory. */
export const developmentToken = (directory: string, owner: string): string =>
  execFileSync(process.execPath, [BIN, 'token', '--owner', owner, '--ttl', '36000'], {
    env: { DATA_DIR: directory, PATH: process.env.PATH ?? '' },
    encoding: 'utf8',
  }).trim();
