import { hostname } from 'node:os';
import { type Identity, readCertificates, type TlsFiles } from '../grpc/certificates.ts';

/** Addresses that mean every address of a machine. */
const ALL = /^(0\.0\.0\.0|\[::\])$/;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;

/**
 * The address at which other instances reach a port: the listening address, or the machine's name if the port listens
 * on every address.
 */
export function addressOf(listening: string): string {
  const colon = listening.lastIndexOf(':');
  const host = listening.slice(0, colon);
  return `${ALL.test(host) ? hostname() : host}${listening.slice(colon)}`;
}

/**
 * Returns a function that reads the instance's identity from its files, which the gRPC port reloads too. The function
 * returns the previous identity when the files are invalid. Throws at once when the first read fails.
 */
export function identityFrom(files: TlsFiles): () => Identity {
  let last = readCertificates(files);
  return () => {
    try {
      last = readCertificates(files);
    } catch {
      // The gRPC port logs the fault.
    }
    return last;
  };
}

/** The certificate itself, without the rest of its chain. */
export const leafCertificate = ({ certificate }: Identity): string =>
  PEM.exec(certificate.toString('latin1'))?.[0] ?? '';
