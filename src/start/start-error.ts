import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve, sep } from 'node:path';
import type { Config } from '../config.ts';

type SystemError = NodeJS.ErrnoException & { hostname?: string; address?: string; port?: number };

/**
 * The same error; one of the system says which setting it is about, and names every port that is taken. All listeners
 * of the failed start must be closed.
 */
export async function explainStartError(error: unknown, config: Config): Promise<unknown> {
  const { code, syscall, hostname, address, port } = error as SystemError;
  if (syscall === 'listen') {
    const name = portName(port, config);
    const hostName = address === config.host ? 'HOST' : 'ADMIN_HOST';
    if (code === 'EADDRINUSE') return because(await takenPorts(config, `${name} ${port}`), error);
    if (code === 'EACCES') return because(`${name} ${port} may not be opened by this user; set ${name}`, error);
    return because(`${hostName} cannot be listened on (${code}); set ${hostName} to an address of this machine`, error);
  }
  // The admin port listens first.
  if (syscall === 'getaddrinfo' && (hostname === config.adminHost || hostname === config.host)) {
    const name = hostname === config.adminHost ? 'ADMIN_HOST' : 'HOST';
    return because(
      `${name} ${hostname} cannot be resolved (${code}); set ${name} to an address of this machine`,
      error,
    );
  }
  return aboutDataDirectory(error, config.dataDirectory);
}

/** Names the ports that are taken now. `found`: the one that ended the start. */
async function takenPorts(config: Config, found: string): Promise<string> {
  const { host, port, grpcPort, adminHost, adminPort } = config;
  const ports = [
    { name: `PORT ${port}`, host, port },
    { name: `GRPC_PORT ${grpcPort}`, host, port: grpcPort },
    { name: `ADMIN_PORT ${adminPort}`, host: adminHost, port: adminPort },
  ];
  const taken: string[] = [];
  for (const each of ports) if (each.name === found || (await isTaken(each))) taken.push(each.name);
  if (taken.length === 1) return `${found} is taken; set ${found.split(' ')[0]} to a free port`;
  return `${taken.slice(0, -1).join(', ')} and ${taken.at(-1)} are taken; set them to free ports`;
}

async function isTaken({ host, port }: { host: string; port: number }): Promise<boolean> {
  const server = createServer().listen(port, host);
  const isFree = await once(server, 'listening').then(
    () => true,
    ({ code }) => code !== 'EADDRINUSE',
  );
  server.close();
  return !isFree;
}

/** The same error; one of the system about the data directory says that it is DATA_DIR. */
export function aboutDataDirectory(error: unknown, dataDirectory: string): unknown {
  const { path, code } = error as SystemError;
  if (path === undefined) return error;
  const [at, folder] = [resolve(path), resolve(dataDirectory)];
  // What is missing in the folder is a file that the user named; the folder itself is there.
  if (!isIn(folder, at) && (code === 'ENOENT' || !isIn(at, folder))) return error;
  return because(
    `DATA_DIR cannot be used: ${(error as Error).message}; set DATA_DIR to a folder that this user may write to`,
    error,
  );
}

/** Whether a path is a folder or in it. Both are absolute. */
const isIn = (path: string, folder: string): boolean => `${path}${sep}`.startsWith(`${folder}${sep}`);

const because = (message: string, cause: unknown): Error => new Error(message, { cause });

function portName(port: number | undefined, { port: http, grpcPort }: Config): string {
  if (port === http) return 'PORT';
  return port === grpcPort ? 'GRPC_PORT' : 'ADMIN_PORT';
}
