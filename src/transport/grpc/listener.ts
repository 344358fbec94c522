import { createServer, type Server, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { Admission } from '../admission/admission.ts';
import { Connection } from '../admission/connection.ts';
import { type Certificates, type FollowedCertificates, type Identity, optionsOf } from './certificates.ts';
import { Handshakes } from './handshakes.ts';

/** Longest TLS handshake, and longest wait for a first byte where that tells whether one comes, in milliseconds. */
const HANDSHAKE_TIMEOUT = 20_000;

/** The first byte of a TLS connection (RFC 8446, section 5.1). No HTTP/2 connection begins with it. */
const HANDSHAKE = 22;

/** Who lets connections in, and what they are encrypted with. */
export interface ListenerOptions extends ListenerTls {
  readonly admission: Admission;
}

/** What connections to the gRPC port are encrypted with. */
export interface ListenerTls {
  /** With these, every connection is. */
  readonly tls?: FollowedCertificates | undefined;
  /** Otherwise the connections of instances are with this, and all others are in plaintext. Undefined: no instances. */
  readonly identity?: Identity | undefined;
}

/**
 * A server that accepts connections and passes them on. It replaces that of grpc-js, which does not bound connections
 * and allows two minutes for a handshake; here it is `requestTimeout`, in seconds. Changed certificates apply to later
 * connections; open ones keep theirs.
 */
export function createListener(
  { tls, identity, admission }: ListenerOptions,
  requestTimeout: number,
  onConnection: (socket: Socket) => void,
): Server {
  const options = tls === undefined ? identity && optionsOfInstances(identity) : optionsOfCallers(tls.current);
  if (options === undefined) return createServer({ pauseOnConnect: true }, onConnection);
  const timeout = Math.min(HANDSHAKE_TIMEOUT, requestTimeout * 1_000);
  const handshakes = new Handshakes(options, timeout, admission, onConnection);
  let shown = tls?.current;
  const renew = () => {
    if (tls === undefined || tls.current === shown) return;
    shown = tls.current;
    handshakes.server.setSecureContext(optionsOf(shown));
  };
  return createServer((socket) =>
    onFirstByte(socket, admission, timeout, (byte) => {
      renew();
      if (byte === HANDSHAKE) handshakes.add(socket);
      else if (tls === undefined) onConnection(socket);
      else socket.destroy();
    }),
  );
}

const optionsOfCallers = (certificates: Certificates): TlsOptions => ({
  ...optionsOf(certificates),
  requestCert: certificates.clientCa !== undefined,
});

const optionsOfInstances = ({ certificate, key }: Identity): TlsOptions => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.3',
});

/** Looks at the first byte of a connection and leaves it there. Ends a connection that sends none in time. */
function onFirstByte(socket: Socket, admission: Admission, milliseconds: number, then: (byte: number) => void): void {
  const mute = new Mute(socket, admission);
  const end = () => socket.destroy();
  // 'close' follows.
  socket.on('error', () => {});
  socket.setTimeout(milliseconds, end);
  const heard = () => {
    socket.off('close', closed).setTimeout(0, end);
    admission.closed(mute);
    const bytes: Buffer | null = socket.read();
    if (bytes === null) return end();
    socket.unshift(bytes);
    then(bytes[0]!);
  };
  const closed = () => admission.closed(mute);
  socket.once('readable', heard).once('close', closed);
}

/** A connection that has sent nothing. It has a place. */
class Mute extends Connection {
  readonly protocol = 'grpc';
  readonly #socket: Socket;

  constructor(socket: Socket, admission: Admission) {
    super(admission.fresh.grpc);
    this.#socket = socket;
    admission.opened(this);
  }

  override work(): boolean {
    return false;
  }

  override end(): void {
    this.#socket.destroy();
  }
}
