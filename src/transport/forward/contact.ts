import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
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

/** The certificate and the key of this instance. Throws when they cannot be read. */
export const identityOf = ({ certificate, key }: TlsFiles): Identity => ({
  certificate: readFileSync(certificate),
  key: readFileSync(key),
});

/** The certificate itself, without those that vouch for it. */
export const leafOf = ({ certificate }: Identity): string => PEM.exec(certificate.toString('latin1'))?.[0] ?? '';
