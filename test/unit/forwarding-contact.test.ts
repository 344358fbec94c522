import { createPrivateKey, X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { addressOf, leafCertificate, selfSigned } from '../../src/transport/forward/contact.ts';

test.each([
  ['127.0.0.1:50051', '127.0.0.1:50051'],
  ['plants.test:1', 'plants.test:1'],
  ['[::1]:50051', '[::1]:50051'],
  ['0.0.0.0:50051', `${hostname()}:50051`],
  ['[::]:65535', `${hostname()}:65535`],
])('a port that listens at %s is reached at %s', (listening, reached) => expect(addressOf(listening)).toBe(reached));

test('of a chain of certificates the first is the instance’s own', () => {
  const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`;
  const certificate = Buffer.from(`a comment\n${pem('own')}\n${pem('authority')}\n`);
  expect(leafCertificate({ certificate, key: Buffer.alloc(0) })).toBe(pem('own'));
});

test('a certificate that an instance makes is of its own new key, for all times', () => {
  const [made, other] = [selfSigned(), selfSigned()];
  const certificate = new X509Certificate(made.certificate);
  expect(certificate.checkPrivateKey(createPrivateKey(made.key))).toBe(true);
  expect(certificate.checkPrivateKey(createPrivateKey(other.key))).toBe(false);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect([certificate.validFromDate.getUTCFullYear(), certificate.validToDate.getUTCFullYear()]).toEqual([1970, 9999]);
  expect(leafCertificate(made)).toBe(made.certificate.toString().trim());
});
