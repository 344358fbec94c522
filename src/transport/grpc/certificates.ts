import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions, type Server } from 'node:tls';
import type { Logger } from '../../observe/logger.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  /** The server's certificate, with the chain up to its issuer. */
  readonly certificate: string;
  /** The private key of the certificate. */
  readonly key: string;
  /** Who signs the certificates of clients. With it, a client without such a certificate cannot connect (mutual TLS). */
  readonly clientCa?: string;
}

/** Milliseconds between two looks at the files. */
const LOOK = 1_000;

/** What the files hold, as TLS takes it. Throws when one cannot be read, or when they are not what they should be. */
export function readCertificates({ certificate, key, clientCa }: TlsFiles): SecureContextOptions {
  const options = {
    cert: readFileSync(certificate),
    key: readFileSync(key),
    ...(clientCa !== undefined && { ca: readFileSync(clientCa) }),
  };
  // TLS would take a file without a certificate for an authority that nobody is signed by.
  if (options.ca !== undefined) new X509Certificate(options.ca);
  createSecureContext(options);
  return options;
}

/**
 * Lets a server use the files anew when they have changed, for connections from then on: those that are open stay as they are.
 * Files that change one after the other are waited for until a look finds no further change. What cannot be used is logged as an
 * error, once, and the server goes on with what it has.
 */
export function followCertificates(server: Server, files: TlsFiles, logger: Pick<Logger, 'info' | 'error'>): void {
  let used = stateOf(files);
  let seen = used;
  const look = () => {
    const now = stateOf(files);
    const isSettled = now === seen;
    seen = now;
    if (!isSettled || now === used) return;
    used = now;
    try {
      server.setSecureContext(readCertificates(files));
      logger.info({ files }, 'the certificate of the gRPC port was read again');
    } catch (err) {
      logger.error({ err, files }, 'the new certificate of the gRPC port cannot be used; the old one stays');
    }
  };
  const timer = setInterval(look, LOOK).unref();
  server.once('close', () => clearInterval(timer));
}

/** Changes when one of the files does, be it written, replaced, or reached by another link. */
const stateOf = ({ certificate, key, clientCa }: TlsFiles): string =>
  [certificate, key, ...(clientCa === undefined ? [] : [clientCa])]
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    })
    .join();
