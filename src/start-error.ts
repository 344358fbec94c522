import type { Config } from './config.ts';

/** The same error; one of the system says which setting it is about. */
export function explained(error: unknown, config: Config): unknown {
  const { code, syscall, address, port, path } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (syscall === 'listen') {
    const name = portName(port, config);
    const hostName = address === config.host ? 'HOST' : 'ADMIN_HOST';
    if (code === 'EADDRINUSE') return because(`${name} ${port} is taken; set ${name} to a free port`, error);
    if (code === 'EACCES') return because(`${name} ${port} may not be opened by this user; set ${name}`, error);
    return because(`${hostName} cannot be listened on (${code}); set ${hostName} to an address of this machine`, error);
  }
  const file = Object.entries(tlsFiles(config)).find(([, named]) => named !== undefined && named === path);
  return file === undefined ? error : because(`${file[0]} cannot be read: ${(error as Error).message}`, error);
}

const because = (message: string, cause: unknown): Error => new Error(message, { cause });

function portName(port: number | undefined, { port: http, grpcPort }: Config): string {
  if (port === http) return 'PORT';
  return port === grpcPort ? 'GRPC_PORT' : 'ADMIN_PORT';
}

const tlsFiles = ({ grpcTls }: Config) => ({
  GRPC_TLS_CERT: grpcTls?.certificate,
  GRPC_TLS_KEY: grpcTls?.key,
  GRPC_TLS_CLIENT_CA: grpcTls?.clientCa,
});
