import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import type { KafkaExtras } from '../../support/kafka.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { dataDirectory, Instance } from '../../support/publication.ts';
import { PublisherProcess } from '../../support/publisher-process.ts';
import { plantstore } from '../../support/run.ts';
import { startService } from '../../support/service.ts';

const USER = 'publisher';
const PASSWORD = 'correct horse';

/** What makes a broker listen with TLS and SASL as well. */
export interface SecureListener extends AsyncDisposable {
  readonly address: string;
  /** PEM file with the certificate that it shows, which nobody has signed. */
  readonly certificate: string;
  readonly extras: KafkaExtras;
}

/** Makes a certificate, and the settings of the listener. */
export async function secureListener(): Promise<SecureListener> {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-tls-'));
  const keystore = join(directory, 'kafka.p12');
  const certificate = join(directory, 'kafka.pem');
  const keytool = (...args: string[]) =>
    promisify(execFile)('keytool', [...args, '-alias', 'kafka', '-keystore', keystore, '-storepass', 'changeit']);
  await keytool('-genkeypair', '-keyalg', 'EC', '-dname', 'CN=kafka', '-ext', 'SAN=ip:127.0.0.1', '-validity', '2');
  await keytool('-exportcert', '-rfc', '-file', certificate);
  const address = `127.0.0.1:${await freePort()}`;
  const login = (module: string, more = '') => `org.apache.kafka.common.security.${module} required${more};`;
  return {
    address,
    certificate,
    extras: {
      listeners: { SASL_SSL: address },
      settings: {
        'ssl.keystore.location': keystore,
        'ssl.keystore.password': 'changeit',
        'ssl.keystore.type': 'PKCS12',
        'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
        'listener.name.sasl_ssl.plain.sasl.jaas.config': login('plain.PlainLoginModule', ` user_${USER}="${PASSWORD}"`),
        'listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config': login('scram.ScramLoginModule'),
        'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config': login('scram.ScramLoginModule'),
      },
      format: ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
        '--add-scram',
        `${mechanism}=[name=${USER},password=${PASSWORD}]`,
      ]),
    },
    [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** How the publisher gets in, and what it says when it does not. */
export function security(bench: KafkaBench, { address, certificate }: SecureListener): void {
  test.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)('gets in with TLS and %s', async (mechanism) => {
    using directory = dataDirectory();
    const sasl = { mechanism, username: USER, password: PASSWORD };
    await using publisher = new PublisherProcess(
      directory.path,
      { ...bench.newTopic(), brokers: [address], ssl: true, sasl },
      { NODE_EXTRA_CA_CERTS: certificate },
    );
    await publisher.until(({ state }) => state === 'publishing');
  });

  test('lets the commands in, too', async () => {
    using directory = dataDirectory();
    const { topic } = bench.newTopic();
    const environment = {
      ...{ DATA_DIR: directory.path, NODE_EXTRA_CA_CERTS: certificate },
      ...{ KAFKA_BROKERS: address, KAFKA_TOPIC: topic, KAFKA_SSL: 'true' },
      ...{ KAFKA_SASL_MECHANISM: 'scram-sha-512', KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD: PASSWORD },
    };
    await using service = await startService(environment);
    await service.logged(({ msg }) => msg === 'events are published');
    const { stdout } = await plantstore(['doctor'], environment);
    expect(stdout).toMatch(/^ok +kafka /m);
    const audited = await plantstore(['audit', 'verify'], environment);
    expect(audited).toMatchObject({ code: 0, stdout: expect.stringMatching(/^topic +yes$/m) });
  });

  test('says that the password is wrong, and not which one it was', async () => {
    using directory = dataDirectory();
    const sasl = { mechanism: 'scram-sha-512', username: USER, password: 'battery staple' } as const;
    await using publisher = new PublisherProcess(
      directory.path,
      { ...bench.newTopic(), brokers: [address], ssl: true, sasl },
      { NODE_EXTRA_CA_CERTS: certificate },
    );
    const { detail } = await publisher.until(({ state }) => state === 'degraded');
    expect(detail).toMatch(/SASL SCRAM.* failed|invalid credentials/i);
    expect(JSON.stringify(publisher.changes)).not.toContain('battery staple');
  });

  test('trusts no certificate that nobody has signed', async () => {
    using directory = dataDirectory();
    const sasl = { mechanism: 'plain', username: USER, password: PASSWORD } as const;
    await using instance = await Instance.start(directory.path, {
      ...bench.newTopic(),
      brokers: [address],
      ssl: true,
      sasl,
    });
    const { detail } = await instance.until(({ state }) => state === 'degraded');
    expect(detail).toMatch(/self-signed certificate/);
  });
}
