import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { createSecureContext } from 'node:tls';
import type { TlsFiles } from '../grpc/certificates.ts';
import type { Identity } from './link.ts';

/** Addresses that stand for all of a machine. */
const ALL = /^(0\.0\.0\.0|\[::\])$/;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;

/** Where others reach a port that listens at an address: there, or by the machine's name where that is all of its addresses. */
export function addressOf(listening: string): string {
  const colon = listening.lastIndexOf(':');
  const host = listening.slice(0, colon);
  return `${ALL.test(host) ? hostname() : host}${listening.slice(colon)}`;
}

/**
 * Tells what this instance shows of itself: what its files hold now, as its port reads them again too, or what they held before
 * where that cannot be used. Throws at once when there is nothing to begin with.
 */
export function identityFrom({ certificate, key }: TlsFiles): () => Identity {
  const read = (): Identity => {
    const identity = { certificate: readFileSync(certificate), key: readFileSync(key) };
    createSecureContext({ cert: identity.certificate, key: identity.key });
    return identity;
  };
  let last = read();
  return () => {
    try {
      last = read();
    } catch {
      // The port says so.
    }
    return last;
  };
}

/** The certificate itself, without those that vouch for it. */
export const leafOf = ({ certificate }: Identity): string => PEM.exec(certificate.toString('latin1'))?.[0] ?? '';
