import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from './config.ts';

/**
 * Returns the certificate of the gRPC port. Throws with one line that names the variable and the file if one of the
 * files cannot be used: TLS itself names neither.
 */
export function examineGrpcTls({ certificate, key, clientCa }: NonNullable<Config['grpcTls']>): X509Certificate {
  const cert = new PemFile('GRPC_TLS_CERT', certificate);
  const keyFile = new PemFile('GRPC_TLS_KEY', key);
  const ca = clientCa === undefined ? undefined : new PemFile('GRPC_TLS_CLIENT_CA', clientCa);
  // The whole chain, of which X509Certificate reads the first certificate only.
  cert.parsed('certificate', (pem) => createSecureContext({ cert: pem }));
  const leaf = cert.parsed('certificate', (pem) => new X509Certificate(pem));
  const privateKey: KeyObject = keyFile.parsed('private key without a passphrase', (pem) => createPrivateKey(pem));
  ca?.parsed('certificate', (pem) => new X509Certificate(pem));
  if (!leaf.checkPrivateKey(privateKey))
    throw new Error(`${keyFile.name} is not the key of ${cert.name}: set both to files of the same certificate`);
  return leaf;
}

class PemFile {
  /** The variable and the path. */
  readonly name: string;
  readonly #pem: Buffer;

  constructor(variable: string, path: string) {
    this.name = `${variable} (${path})`;
    try {
      this.#pem = readFileSync(path);
    } catch (cause) {
      throw new Error(`${this.name} cannot be read: ${(cause as Error).message}`, { cause });
    }
  }

  parsed<T>(content: string, parse: (pem: Buffer) => T): T {
    try {
      return parse(this.#pem);
    } catch (cause) {
      throw new Error(`${this.name} has no ${content} in PEM that can be used: ${(cause as Error).message}`, { cause });
    }
  }
}
