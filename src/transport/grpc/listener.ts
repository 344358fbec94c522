import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions, type Server as TlsServer } from 'node:tls';
import type { Logger } from '../../observe/logger.ts';
import { followCertificates, type Identity, optionsOf, readCertificates, type TlsFiles } from './certificates.ts';

/** Longest TLS handshake, and longest wait for a first byte where that tells whether one comes, in milliseconds. */
const HANDSHAKE_TIMEOUT = 20_000;

/** The first byte of a TLS connection (RFC 8446, section 5.1). No HTTP/2 connection begins with it. */
const HANDSHAKE = 22;

/** What connections to the gRPC port are encrypted with. */
export interface ListenerTls {
  /** With these, every connection is. */
  readonly tls?: TlsFiles | undefined;
  /** Otherwise the connections of instances are with this, and all others are in plaintext. Undefined: no instances. */
  readonly identity?: Identity | undefined;
}

/**
 * A server that accepts connections and passes them on. It replaces that of grpc-js, which does not bound connections
 * and allows two minutes for a handshake; here it is `requestTimeout`, in seconds. Changed files are reloaded. Throws
 * when a file cannot be read or is invalid.
 */
export function createListener(
  { tls, identity }: ListenerTls,
  requestTimeout: number,
  logger: Logger,
  onConnection: (socket: Socket) => void,
): Server {
  const handshakeTimeout = Math.min(HANDSHAKE_TIMEOUT, requestTimeout * 1_000);
  if (tls !== undefined) {
    const options = { ...optionsOf(readCertificates(tls)), requestCert: tls.clientCa !== undefined };
    const server = createSecureServer({ ...options, handshakeTimeout }, onConnection);
    followCertificates(server, tls, logger);
    return server;
  }
  if (identity === undefined) return createServer({ pauseOnConnect: true }, onConnection);
  const options = { cert: identity.certificate, key: identity.key, minVersion: 'TLSv1.3' } as const;
  const secure = createSecureServer({ ...options, handshakeTimeout }, onConnection);
  return createServer((socket) =>
    onFirstByte(socket, handshakeTimeout, (byte) => {
      if (byte === HANDSHAKE) secure.emit('connection', socket);
      else onConnection(socket);
    }),
  );
}

function createSecureServer(options: TlsOptions, onConnection: (socket: Socket) => void): TlsServer {
  const server = createTlsServer({ ...options, ALPNProtocols: ['h2'] }, onConnection);
  // A failed or slow handshake leaves its connection open.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}

/** Looks at the first byte of a connection and leaves it there. Ends a connection that sends none in time. */
function onFirstByte(socket: Socket, milliseconds: number, then: (byte: number) => void): void {
  const end = () => socket.destroy();
  // 'close' follows.
  socket.on('error', () => {});
  socket.setTimeout(milliseconds, end);
  socket.once('readable', () => {
    socket.setTimeout(0, end);
    const bytes: Buffer | null = socket.read();
    if (bytes === null) return end();
    socket.unshift(bytes);
    then(bytes[0]!);
  });
}
