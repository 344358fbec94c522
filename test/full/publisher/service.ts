import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { expect, test } from 'vitest';
import { AuditService } from '../../../gen/plantstore/v1/audit_service_pb.ts';
import { client } from '../../support/http.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { positionsOf, readTopic } from '../../support/kafka-records.ts';
import { plantstore } from '../../support/run.ts';
import { type Service, startService } from '../../support/service.ts';
import { upTo } from './series.ts';

/** What `/readyz` says of Kafka, and whether the service is ready. */
async function kafkaOf(service: Service): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.adminUrl}/readyz`);
  const { dependencies } = (await response.json()) as { dependencies: Record<string, unknown>[] };
  return { status: response.status, ...dependencies.find(({ name }) => name === 'kafka') };
}

/** What it logged of publication. */
const logged = ({ logs }: Service) =>
  logs.filter(({ publication }) => publication !== undefined).map(({ level, msg }) => [level, msg]);

async function addTen(service: Service): Promise<void> {
  const send = client(service.url, await service.token('alice'));
  for (let id = 0; id < 10; id++) {
    const { status, text } = await send('POST', '/plants', { body: `{"id":${id},"name":"Fern"}` });
    expect(status, text).toBe(200);
  }
}

/** The verdict of AuditService.VerifyLog: each question, and what is wrong. */
async function verdictOf(service: Service): Promise<Record<string, string | undefined>> {
  const authorization = `Bearer ${await service.token('auditor', 'plants:audit')}`;
  const audit = createClient(AuditService, createConnectTransport({ baseUrl: service.url, httpVersion: '1.1' }));
  for await (const { step } of audit.verifyLog({}, { headers: { authorization } }))
    if (step.case === 'verdict')
      return Object.fromEntries(step.value.answers.map(({ question, failure }) => [question, failure?.message]));
  throw new Error('no verdict');
}

/** The whole service with KAFKA_BROKERS. */
export function service(bench: KafkaBench): void {
  const { kafka } = bench;

  test('publishes what clients add, says so, and its audits ask the topic', async () => {
    const { topic } = bench.newTopic();
    const environment = { KAFKA_BROKERS: kafka.brokers.join(), KAFKA_TOPIC: topic, KAFKA_PARTITIONS: '1' };
    await using publishing = await startService(environment);
    await addTen(publishing);
    await publishing.logged(({ msg }) => msg === 'events are published');
    // The thread tells how far it is once a second.
    await expect.poll(() => publishing.metric('plantstore_publisher_lag_events')).toBe(0);
    expect(positionsOf(await readTopic(kafka, topic))).toEqual(upTo(10));
    expect(await kafkaOf(publishing)).toMatchObject({
      status: 200,
      ready: true,
      degraded: false,
      detail: 'events are published',
    });
    expect(logged(publishing)).toEqual([['info', 'events are published']]);
    expect(await verdictOf(publishing)).toHaveProperty('topic', undefined);
    const audited = await plantstore(['audit', 'verify'], { ...environment, DATA_DIR: publishing.dataDirectory });
    expect(audited).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^topic +yes$/m) });
    expect(publishing.output).not.toContain('Warning');
    expect(await publishing.stop()).toBe(0);
  });

  test('serves and is ready without Kafka; it says once what is wrong, and an audit answers the rest', async () => {
    const environment = { KAFKA_BROKERS: '127.0.0.1:1' };
    await using service = await startService(environment);
    await addTen(service);
    while ((await kafkaOf(service)).degraded !== true) await sleep(50);
    await sleep(3_000);
    expect(await kafkaOf(service)).toMatchObject({
      status: 200,
      ready: true,
      detail: expect.stringMatching(/cannot be published.*ECONNREFUSED/),
    });
    expect(logged(service)).toEqual([['warn', 'events cannot be published']]);
    const { topic, ...others } = await verdictOf(service);
    expect(topic).toMatch(/not asked: reading the topic failed: .*ECONNREFUSED/);
    expect(others).toEqual({ positions: undefined, chain: undefined, read_model: undefined });
    // No question was answered with no.
    expect(await service.metric('plantstore_verification_failed')).toBe(0);
    expect(await plantstore(['audit', 'verify'], { ...environment, DATA_DIR: service.dataDirectory })).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^chain +yes$[\s\S]*^topic +NO +not asked: reading the topic failed/m),
    });
    expect(await service.stop()).toBe(0);
  });
}
