import { resolve, sep } from 'node:path';
import type { Config } from '../config.ts';

type SystemError = NodeJS.ErrnoException & { hostname?: string; address?: string; port?: number };

/** The same error; one of the system says which setting it is about. */
export function explainStartError(error: unknown, config: Config): unknown {
  const { code, syscall, hostname, address, port } = error as SystemError;
  if (syscall === 'listen') {
    const name = portName(port, config);
    const hostName = address === config.host ? 'HOST' : 'ADMIN_HOST';
    if (code === 'EADDRINUSE') return because(`${name} ${port} is taken; set ${name} to a free port`, error);
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
