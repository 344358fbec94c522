import { once } from 'node:events';
import { createServer } from 'node:net';
import { resolve, sep } from 'node:path';
import type { Config } from '../config.ts';
import { CannotSignError } from '../log/unavailable.ts';

/** Listens, or rejects with an error that has the settings `port` and `host`, which the system's error lacks. */
export async function listening<T>(
  port: readonly [string, number],
  host: readonly [string, string],
  listen: () => Promise<T>,
): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    const { message } = cause as Error;
    const advice = `set ${port[0]} to a free port, or ${host[0]} to an address of this machine`;
    throw new Error(`${port.join(' ')} on ${host.join(' ')} cannot be opened: ${message}; ${advice}`, { cause });
  }
}

/** The same error; one about a taken port names the others too. All listeners of the start must be closed. */
export async function withOtherPorts(error: Error, config: Config): Promise<Error> {
  const cause = error.cause as (NodeJS.ErrnoException & { port?: number }) | undefined;
  if (cause?.code !== 'EADDRINUSE') return error;
  const others = (await closedPorts(config)).filter(({ port, isTaken }) => isTaken && port !== cause.port);
  const also = others.map(({ name, port }) => `; ${name} ${port} is taken too`);
  return new Error(error.message + also.join(''), { cause });
}

/** The ports that cannot be opened, why, and whether another program has them. Listens on each for a moment. */
export async function closedPorts({ host, port, grpcPort, adminHost, adminPort }: Config) {
  return [
    ...(await closedPort(['PORT', port], ['HOST', host])),
    ...(await closedPort(['GRPC_PORT', grpcPort], ['HOST', host])),
    ...(await closedPort(['ADMIN_PORT', adminPort], ['ADMIN_HOST', adminHost])),
  ];
}

async function closedPort(port: readonly [string, number], host: readonly [string, string]) {
  const server = createServer();
  try {
    await listening(port, host, () => once(server.listen(port[1], host[1]), 'listening'));
    return [];
  } catch (error) {
    const { message, cause } = error as Error;
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE';
    return [{ name: port[0], port: port[1], isTaken, message }];
  } finally {
    server.close();
  }
}

/** The same error; one of the system about the data directory says that it is DATA_DIR. */
export function aboutDataDirectory(error: unknown, dataDirectory: string): unknown {
  const { path, code } = (error instanceof CannotSignError ? error.cause : error) as NodeJS.ErrnoException;
  // An empty name is no folder, and not the one that the process runs in.
  if (path === undefined || path === '') return error;
  const [at, folder] = [resolve(path), resolve(dataDirectory)];
  // What is missing in the folder is a file that the user named; the folder itself is there.
  if (!isIn(folder, at) && (code === 'ENOENT' || !isIn(at, folder))) return error;
  const reason = (error as Error).message;
  // Another DATA_DIR would be another log.
  const others =
    code === 'EACCES' && at !== folder ? 'run this as the user of the service, whose it has to be, or ' : '';
  return new Error(
    `DATA_DIR cannot be used: ${reason}; ${others}set DATA_DIR to a folder that this user may write to`,
    { cause: error },
  );
}

/** Whether a path is a folder or in it. Both are absolute. */
const isIn = (path: string, folder: string): boolean => `${path}${sep}`.startsWith(`${folder}${sep}`);
