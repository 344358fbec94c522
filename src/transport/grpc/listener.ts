import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Logger } from '../../observe/logger.ts';
import { followCertificates, readCertificates, type TlsFiles } from './certificates.ts';

/** Longest TLS handshake, in milliseconds. */
const HANDSHAKE_TIMEOUT = 20_000;

/**
 * A server that accepts connections and passes them on: over TLS if there are files, otherwise in plaintext. It
 * replaces that of grpc-js, which does not bound connections and allows two minutes for a handshake; here it is
 * `requestTimeout`, in seconds. Changed files are reloaded. Throws when a file cannot be read or is invalid.
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
  // A failed or slow handshake leaves its connection open.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  followCertificates(server, tls, logger);
  return server;
}
