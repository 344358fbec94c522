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
  /**
   * The authority that signs client certificates. With it, a client without such a certificate cannot connect (mutual
   * TLS).
   */
  readonly clientCa?: string;
}

/** A certificate and its key, in PEM: what an instance presents to the others, as the writer and as its client. */
export interface Identity {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/** Milliseconds between two checks of the files. */
const LOOK = 1_000;

/** The contents of the files, as TLS options. Throws when a file cannot be read or is invalid. */
export function readCertificates({ certificate, key, clientCa }: TlsFiles): SecureContextOptions {
  const options = {
    cert: readFileSync(certificate),
    key: readFileSync(key),
    ...(clientCa !== undefined && { ca: readFileSync(clientCa) }),
  };
  // TLS would accept a file without a certificate as an authority that has signed no client.
  if (options.ca !== undefined) new X509Certificate(options.ca);
  createSecureContext(options);
  return options;
}

/**
 * Makes a server reload the files when they have changed. The new files apply to later connections; open connections
 * keep theirs. When files change one after another, it waits until a check finds no further change. It logs invalid
 * files once, as an error, and the server keeps the previous ones.
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
      logger.info({ files }, 'the certificate of the gRPC port was reloaded');
    } catch (err) {
      logger.error({ err, files }, 'the new certificate of the gRPC port cannot be used; the old one stays in use');
    }
  };
  const timer = setInterval(look, LOOK).unref();
  server.once('close', () => clearInterval(timer));
}

/** Changes whenever one of the files is written, replaced, or reached by another link. */
const stateOf = ({ certificate, key, clientCa }: TlsFiles): string =>
  [certificate, key, ...(clientCa === undefined ? [] : [clientCa])]
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    })
    .join();
