import { createPrivateKey, X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openLog } from '../../src/log/log.ts';
import { addressOf, leafCertificate, selfSigned } from '../../src/transport/forward/contact.ts';
import { linksOf } from '../../src/transport/forward/link.ts';
import { openSqliteStore } from '../store/open-sqlite.ts';
import { override } from '../support/faulty-store.ts';

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

test('a writer that cannot be reached is told of once it has renewed its lease since, and one that has died is not', async () => {
  const { store, cleanup } = await openSqliteStore();
  let writer = { holder: 'killed', address: 'a:1', secret: '' };
  let attempts = 0;
  const told: string[] = [];
  const led = override(store, { lease: async () => false, leaseholder: async () => writer });
  const log = await openLog(led, { onFault: () => {} });
  onTestFinished(async () => {
    await log.close();
    await cleanup();
  });
  log.join({
    ...{ contact: () => ({ address: 'this' }), onFault: () => {} },
    onReachable: (address) => told.push(address),
    openLink: (_writer, listener) => {
      setImmediate(() => listener.ended(new Error(`attempt ${++attempts}`)));
      return { send: () => true, finish: () => {}, close: () => {} };
    },
  });
  const now = performance.now.bind(performance);
  let passed = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed);
  onTestFinished(() => clock.mockRestore());
  const triedTwice = async () => {
    const before = attempts;
    await expect.poll(() => attempts).toBeGreaterThan(before + 1);
  };
  await triedTwice();
  expect(told).toEqual([]);
  passed += 3_001;
  writer = { ...writer, holder: 'unreachable' };
  await triedTwice();
  expect(told).toEqual([]);
  passed += 3_001;
  await expect.poll(() => told).toContain('a:1');
});

test('an instance goes on by itself where the lease has an address that is none', async () => {
  const { store, cleanup } = await openSqliteStore();
  const led = override(store, {
    lease: async () => false,
    leaseholder: async () => ({ holder: 'other', address: '', secret: 's' }),
  });
  const log = await openLog(led, { onFault: () => {} });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(async () => {
    vi.useRealTimers();
    await log.close();
    await cleanup();
  });
  const identity = selfSigned();
  const opened = vi.fn(linksOf(() => identity));
  log.join({
    ...{ contact: () => ({ address: 'this' }), onFault: () => {}, onReachable: () => {} },
    openLink: opened,
  });
  await expect.poll(() => opened.mock.results.map(({ type }) => type)).toContain('throw');
  vi.advanceTimersByTime(2_000);
  const plant = { id: 1n, name: 'Fern', tag: undefined };
  expect(await log.submit({ type: 'AddPlant', owner: 'a', actor: 'a', plant })).toMatchObject({ position: 1 });
});
