import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ChannelCredentials, credentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TlsFiles } from '../../../src/transport/grpc/certificates.ts';
import { type Certificate, CertificateAuthority } from '../../support/certificates.ts';
import { bearer, grpcClient, unary } from '../../support/grpc.ts';
import { startLocalService } from '../../support/local-service.ts';
import type { RunningService } from '../../support/running-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const directory = temporaryDirectory(afterAll);
let ca: CertificateAuthority;
let server: Certificate;
beforeAll(() => {
  ca = new CertificateAuthority(directory, 'ca');
  server = ca.issue('server');
});

const trusting = ({ certificate }: Certificate, own?: Certificate): ChannelCredentials =>
  credentials.createSsl(
    readFileSync(certificate),
    own === undefined ? null : readFileSync(own.key),
    own === undefined ? null : readFileSync(own.certificate),
  );

const variables = ({ certificate, key, clientCa }: TlsFiles) => ({
  GRPC_TLS_CERT: certificate,
  GRPC_TLS_KEY: key,
  ...(clientCa !== undefined && { GRPC_TLS_CLIENT_CA: clientCa }),
});

/** The code of a list by a client with these credentials. */
async function codeOf(service: { grpcUrl: string }, token: string, tls: ChannelCredentials): Promise<number> {
  const client = grpcClient(service.grpcUrl.replace('127.0.0.1', 'localhost'), { tls });
  const call = unary(client, 'listPlants', {}, bearer(token), { deadline: Date.now() + 20_000 });
  const code = await call.then(
    () => status.OK,
    (error) => error.code,
  );
  client.close();
  return code;
}

/** When the certificate that a service has in use expires, as its metrics say, and that of a file: Unix time. */
const expiryOf = async (service: RunningService) =>
  (await service.metrics()).get('plantstore_grpc_certificate_expiry_timestamp_seconds')?.samples[0]?.value;
const endOf = ({ certificate }: Certificate) =>
  new X509Certificate(readFileSync(certificate)).validToDate.getTime() / 1000;

test('with a certificate the port speaks TLS, and only TLS', async () => {
  await using service = await startLocalService(variables(server));
  const token = await service.token('alice');
  expect(await codeOf(service, token, trusting(ca))).toBe(status.OK);
  expect(await codeOf(service, token, trusting(new CertificateAuthority(directory, 'other')))).toBe(status.UNAVAILABLE);
  expect(await codeOf(service, token, credentials.createInsecure())).toBe(status.UNAVAILABLE);
});

test('with a client CA only its clients get in, and a token is needed all the same', async () => {
  const clients = new CertificateAuthority(directory, 'clients');
  await using service = await startLocalService(variables({ ...server, clientCa: clients.certificate }));
  const token = await service.token('alice');
  expect(await codeOf(service, token, trusting(ca, clients.issue('alice')))).toBe(status.OK);
  expect(await codeOf(service, 'none', trusting(ca, clients.issue('bob')))).toBe(status.UNAUTHENTICATED);
  expect(await codeOf(service, token, trusting(ca))).toBe(status.UNAVAILABLE);
  expect(await codeOf(service, token, trusting(ca, ca.issue('mallory')))).toBe(status.UNAVAILABLE);
});

test('every call that is refused gets its status, also beside others on its connection', async () => {
  await using service = await startLocalService(variables(server));
  const client = grpcClient(service.grpcUrl.replace('127.0.0.1', 'localhost'), { tls: trusting(ca) });
  const refused = () => unary(client, 'listPlants', {}, bearer('none')).catch(({ code }) => code);
  for (let round = 0; round < 25; round++) {
    const codes = await Promise.all(Array.from({ length: 16 }, refused));
    expect(codes).toEqual(Array.from({ length: 16 }, () => status.UNAUTHENTICATED));
  }
  client.close();
});

test('new files are used without a restart, broken ones are not, and open connections stay', async () => {
  const live = mkdtempSync(join(directory, 'live-'));
  const files = { certificate: join(live, 'tls.crt'), key: join(live, 'tls.key') };
  const put = (from: Certificate) => {
    copyFileSync(from.certificate, files.certificate);
    copyFileSync(from.key, files.key);
  };
  put(server);
  await using service = await startLocalService(variables(files));
  const token = await service.token('alice');
  const open = grpcClient(service.grpcUrl.replace('127.0.0.1', 'localhost'), { tls: trusting(ca) });
  const list = () => unary(open, 'listPlants', {}, bearer(token));
  await list();
  expect(await expiryOf(service)).toBe(endOf(server));

  const renewing = new CertificateAuthority(directory, 'renewing');
  const renewed = renewing.issue('renewed', undefined, 5);
  put(renewed);
  await service.logged(({ msg }) => /was reloaded/.test(String(msg)));
  expect(await expiryOf(service)).toBe(endOf(renewed));
  expect(await codeOf(service, token, trusting(renewing))).toBe(status.OK);
  expect(await codeOf(service, token, trusting(ca))).toBe(status.UNAVAILABLE);
  await list();

  // The key of another certificate.
  copyFileSync(server.key, files.key);
  await service.logged(({ msg, level }) => level === 'error' && /cannot be used; the old one stays/.test(String(msg)));
  expect(await codeOf(service, token, trusting(renewing))).toBe(status.OK);
  rmSync(files.certificate);
  await expect.poll(() => service.logs.filter(({ level }) => level === 'error').length, { timeout: 30_000 }).toBe(2);
  expect(await codeOf(service, token, trusting(renewing))).toBe(status.OK);

  put(server);
  await expect
    .poll(() => service.logs.filter(({ msg }) => /was reloaded/.test(String(msg))).length, { timeout: 30_000 })
    .toBe(2);
  expect(await codeOf(service, token, trusting(ca))).toBe(status.OK);
  await list();
  open.close();
}, 90_000);

test('the authority of clients is read again too', async () => {
  const live = mkdtempSync(join(directory, 'live-'));
  const clientCa = join(live, 'ca.crt');
  const [old, next] = ['old', 'next'].map((name) => new CertificateAuthority(directory, `clients-${name}`)) as [
    CertificateAuthority,
    CertificateAuthority,
  ];
  copyFileSync(old.certificate, clientCa);
  await using service = await startLocalService(variables({ ...server, clientCa }));
  const token = await service.token('alice');
  const [before, after] = [trusting(ca, old.issue('old-alice')), trusting(ca, next.issue('next-alice'))];
  expect(await codeOf(service, token, before)).toBe(status.OK);
  writeFileSync(clientCa, 'no certificate');
  await service.logged(({ level }) => level === 'error');
  expect(await codeOf(service, token, before)).toBe(status.OK);
  copyFileSync(next.certificate, clientCa);
  await service.logged(({ msg }) => /was reloaded/.test(String(msg)));
  expect(await codeOf(service, token, after)).toBe(status.OK);
  expect(await codeOf(service, token, before)).toBe(status.UNAVAILABLE);
}, 90_000);
