import { generateKeyPairSync, sign } from 'node:crypto';
import { hostname } from 'node:os';
import type { Identity } from '../grpc/certificates.ts';

/** Addresses that mean every address of a machine. */
const ALL = /^(0\.0\.0\.0|\[::\])$/;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;

/** The address at which others reach a port: the machine's name, if the port listens on every address. */
export function addressOf(listening: string): string {
  const colon = listening.lastIndexOf(':');
  const host = listening.slice(0, colon);
  return `${ALL.test(host) ? hostname() : host}${listening.slice(colon)}`;
}

/** The certificate itself, without the rest of its chain. */
export const leafCertificate = ({ certificate }: Identity): string =>
  PEM.exec(certificate.toString('latin1'))?.[0] ?? '';

/** Tags of DER (X.690). */
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;

/** An element of DER, of less than 256 bytes. */
function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  return Buffer.concat([Buffer.from(length < 128 ? [tag, length] : [tag, 0x81, length]), content]);
}

/** The algorithm Ed25519 (RFC 8410). */
const ED25519 = Buffer.from('300506032b6570', 'hex');
const NO_NAME = der(SEQUENCE);
/**
 * It is trusted for as long as the lease that names it, whatever the clocks of the instances say (RFC 5280, 4.1.2.5).
 */
const ALWAYS = der(
  SEQUENCE,
  der(UTC_TIME, Buffer.from('700101000000Z')),
  der(GENERALIZED_TIME, Buffer.from('99991231235959Z')),
);

/** A new key, and a certificate of it (X.509, RFC 5280) that the key itself has signed and that names nobody. */
export function selfSigned(): Identity {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const serial = der(INTEGER, Buffer.of(1));
  const signed = der(
    SEQUENCE,
    ...[serial, ED25519, NO_NAME, ALWAYS, NO_NAME, publicKey.export({ type: 'spki', format: 'der' })],
  );
  const signature = der(BIT_STRING, Buffer.of(0), sign(null, signed, privateKey));
  const certificate = der(SEQUENCE, signed, ED25519, signature).toString('base64').replaceAll(/.{64}/g, '$&\n');
  return {
    certificate: Buffer.from(`-----BEGIN CERTIFICATE-----\n${certificate}\n-----END CERTIFICATE-----\n`),
    key: Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}
