import { readFileSync } from 'node:fs';
import { ServerCredentials } from '@grpc/grpc-js';

/** Paths of PEM files. */
export interface TlsFiles {
  /** The server's certificate, with the chain up to its issuer. */
  readonly certificate: string;
  /** The private key of the certificate. */
  readonly key: string;
  /** Who signs the certificates of clients. With it, a client without such a certificate cannot connect (mutual TLS). */
  readonly clientCa?: string;
}

/** Credentials of the server: TLS by files, or plaintext without. Throws when a file cannot be read or is not what it should be. */
export function credentialsOf(tls: TlsFiles | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const pair = { cert_chain: readFileSync(tls.certificate), private_key: readFileSync(tls.key) };
  const clientCa = tls.clientCa === undefined ? null : readFileSync(tls.clientCa);
  return ServerCredentials.createSsl(clientCa, [pair], clientCa !== null);
}
