import { createServer, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { Admission } from '../admission/admission.ts';
import { type Certificates, type FollowedCertificates, type Identity, optionsOf } from './certificates.ts';
import { Handshakes } from './handshakes.ts';

/** Milliseconds for a TLS handshake, and for the first byte where it tells TLS from plaintext, at most. */
const HANDSHAKE_TIMEOUT = 20_000;

/** What connections to the gRPC port are encrypted with. */
export interface ListenerTls {
  /** With these, every connection is. */
  readonly tls?: FollowedCertificates | undefined;
  /** Without `tls`: what a connection that begins with TLS gets, such as another instance's. The others stay plain. */
  readonly identity?: Identity | undefined;
}

/**
 * A server that accepts connections and passes them on. It replaces that of grpc-js, which does not bound connections
 * and allows two minutes for a handshake; here it is HANDSHAKE_TIMEOUT, or `requestTimeout` if that is shorter, in
 * seconds. Changed certificates apply to later connections; open ones keep theirs. Call `endHandshakes` when the server
 * is closed: a client that sends nothing would hold up its end.
 */
export function createListener(
  { tls, identity, admission }: ListenerTls & { readonly admission: Admission },
  requestTimeout: number,
  onConnection: (socket: Socket) => void,
) {
  const options = tls === undefined ? identity && optionsOfInstances(identity) : optionsOfCallers(tls.current);
  if (options === undefined) return { server: createServer(onConnection), endHandshakes: () => {} };
  const timeout = Math.min(HANDSHAKE_TIMEOUT, requestTimeout * 1_000);
  const plain = tls === undefined ? onConnection : (socket: Socket) => socket.destroy();
  const handshakes = new Handshakes(options, timeout, admission, onConnection, plain);
  let shown = tls?.current;
  handshakes.server.prependListener('connection', () => {
    if (tls === undefined || tls.current === shown) return;
    shown = tls.current;
    handshakes.server.setSecureContext(optionsOf(shown));
  });
  return { server: createServer((socket) => handshakes.add(socket)), endHandshakes: () => handshakes.end() };
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
