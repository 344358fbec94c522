import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Logger } from '../../observe/logger.ts';
import { followCertificates, readCertificates, type TlsFiles } from './certificates.ts';

/** Longest time in milliseconds for a client to agree on TLS. */
const HANDSHAKE_TIMEOUT = 20_000;

/**
 * A server that accepts connections, with TLS by files or in plaintext without, and hands them on. It is ours and not grpc-js's,
 * which has no bound on connections and lets a handshake take two minutes; here it has `requestTimeout`, in seconds. Files that
 * change are read again. Throws when a file cannot be read or is not what it should be.
 */
export function createListener(
  tls: TlsFiles | undefined,
  requestTimeout: number,
  logger: Logger,
  onConnection: (socket: Socket) => void,
): Server {
  if (tls === undefined) return createServer(onConnection);
  const options = {
    ...readCertificates(tls),
    requestCert: tls.clientCa !== undefined,
    ALPNProtocols: ['h2'],
    handshakeTimeout: Math.min(HANDSHAKE_TIMEOUT, requestTimeout * 1_000),
  };
  const server = createTlsServer(options, onConnection);
  // A handshake that fails or takes too long leaves its connection open.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  followCertificates(server, tls, logger);
  return server;
}
