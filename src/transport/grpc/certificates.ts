import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { duplexPair } from 'node:stream';
import { connect, createSecureContext, createServer, type SecureContextOptions } from 'node:tls';
import type { Logger } from '../../observe/logger.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  /** The server's certificate, with the chain up to its issuer. */
  readonly certificate: string;
  readonly key: string;
  /** The authority that signs client certificates. Clients without one cannot connect then (mutual TLS). */
  readonly clientCa?: string;
}

/** A certificate and its key, in PEM: what an instance presents to the others, as the writer and as its client. */
export interface Identity {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/** Milliseconds between two checks of the files. */
const POLL_INTERVAL = 1_000;

/** What the files have. */
export interface Certificates extends Identity {
  readonly clientCa: Buffer | undefined;
  /** The certificate itself, the first of its chain. */
  readonly leaf: X509Certificate;
}

/** Reads the files. If one is unusable, throws an error of one line that names the variable and the file. */
export function readCertificates({ certificate, key, clientCa }: TlsFiles): Certificates {
  const cert = new PemFile('GRPC_TLS_CERT', certificate);
  const keyFile = new PemFile('GRPC_TLS_KEY', key);
  const ca = clientCa === undefined ? undefined : new PemFile('GRPC_TLS_CLIENT_CA', clientCa);
  // The whole chain, of which X509Certificate reads the first certificate only.
  cert.parsed('certificate', (pem) => createSecureContext({ cert: pem }));
  const leaf = cert.parsed('certificate', (pem) => new X509Certificate(pem));
  const privateKey = keyFile.parsed('private key without a passphrase', (pem) => createPrivateKey(pem));
  // TLS would accept a file without a certificate as an authority that has signed no client.
  ca?.parsed('certificate', (pem) => new X509Certificate(pem));
  if (!leaf.checkPrivateKey(privateKey))
    throw new Error(`${keyFile.name} is not the key of ${cert.name}: set both to files of the same certificate`);
  return { certificate: cert.pem, key: keyFile.pem, clientCa: ca?.pem, leaf };
}

/** The same as TLS options. */
export const optionsOf = ({ certificate, key, clientCa }: Certificates): SecureContextOptions => ({
  ...{ cert: certificate, key },
  ...(clientCa !== undefined && { ca: clientCa }),
});

/**
 * Why the gRPC port of the other instances, which has the same files, refuses this instance's certificate as that of a
 * client: one line that names the variable. Undefined if it does not, or if clients need none. TLS itself is asked, in
 * a handshake within this process.
 */
export async function refusalAsClient(files: TlsFiles): Promise<string | undefined> {
  if (files.clientCa === undefined) return undefined;
  const options = optionsOf(readCertificates(files));
  const [near, far] = duplexPair();
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const server = createServer({ ...options, requestCert: true, rejectUnauthorized: false }, (socket) => {
    // Node's types say Error, and the value is the code of one.
    resolve(socket.authorized ? undefined : String(socket.authorizationError));
  });
  server.on('tlsClientError', ({ message }) => resolve(message));
  server.emit('connection', far);
  const client = connect({ ...options, socket: near, rejectUnauthorized: false });
  client.on('error', ({ message }) => resolve(message));
  const reason = await promise;
  for (const socket of [client, near, far]) socket.destroy();
  if (reason === undefined) return undefined;
  const why =
    reason === 'INVALID_PURPOSE'
      ? 'its extended key usage lacks clientAuth'
      : `the authority of GRPC_TLS_CLIENT_CA does not vouch for it (${reason})`;
  return `other instances refuse GRPC_TLS_CERT (${files.certificate}) as a client's certificate, so each instance writes by itself: ${why}`;
}

class PemFile {
  /** The variable and the path. */
  readonly name: string;
  readonly pem: Buffer;

  constructor(variable: string, path: string) {
    this.name = `${variable} (${path})`;
    try {
      this.pem = readFileSync(path);
    } catch (cause) {
      throw new Error(`${this.name} cannot be read: ${(cause as Error).message}`, { cause });
    }
  }

  parsed<T>(content: string, parse: (pem: Buffer) => T): T {
    try {
      return parse(this.pem);
    } catch (cause) {
      throw new Error(`${this.name} has no ${content} in PEM that can be used: ${(cause as Error).message}`, { cause });
    }
  }
}

/** The certificates of files that are read again once they have changed. */
export interface FollowedCertificates {
  /** What the files had when they were last read. The same object until they have changed. */
  readonly current: Certificates;
}

/**
 * Reads the files, and again whenever they have changed: the gRPC port, the writer's lease and the links to other
 * instances have the same certificate at all times. When files change one after another, it waits until nothing has
 * changed for two checks. It logs invalid files, as an error, and keeps the previous ones. Throws as `readCertificates`
 * does.
 */
export function followCertificates(
  files: TlsFiles,
  logger: Pick<Logger, 'info' | 'error'>,
): FollowedCertificates & Disposable {
  let current = readCertificates(files);
  const reload = () => {
    try {
      current = readCertificates(files);
      logger.info({ files }, 'the certificate of the gRPC port was reloaded');
    } catch (err) {
      logger.error({ err, files }, 'the new certificate of the gRPC port cannot be used; the old one stays in use');
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(reload, 2 * POLL_INTERVAL).unref();
  };
  const paths = [files.certificate, files.key, files.clientCa].filter((path) => path !== undefined);
  for (const path of paths) watchFile(path, { interval: POLL_INTERVAL, persistent: false }, changed);
  return {
    get current() {
      return current;
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const path of paths) unwatchFile(path, changed);
    },
  };
}
