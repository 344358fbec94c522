import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type Server, startServer } from './server.ts';

const BIN = join(import.meta.dirname, '../../bin/plantstore.js');

/** Our service in development mode on free ports, and a way to make tokens for it. */
export async function plantstore(
  directory: string,
  env: Record<string, string>,
): Promise<{ server: Server; token: (owner: string) => string }> {
  const server = await startServer(
    'plantstore',
    [BIN, 'serve'],
    { DATA_DIR: directory, PORT: '0', GRPC_PORT: '0', ADMIN_PORT: '0', DRAIN_GRACE: '0', LOG_LEVEL: 'info', ...env },
    (line) => /"protocol":"rest","address":"(http[^"]+)"/.exec(line)?.[1],
  );
  const token = (owner: string): string =>
    execFileSync(process.execPath, [BIN, 'token', '--owner', owner, '--ttl', '36000'], {
      env: { DATA_DIR: directory, PATH: process.env.PATH ?? '' },
      encoding: 'utf8',
    }).trim();
  return { server, token };
}
