import { afterAll, describe, test } from 'vitest';
import { KafkaBench } from '../../support/kafka-bench.ts';
import { findKafka } from '../../support/kafka-library.ts';
import { doctor } from './doctor.ts';
import { erasure } from './erasure.ts';
import { mismatches } from './mismatches.ts';
import { publishing } from './publishing.ts';
import { secureListener, security } from './security.ts';
import { service } from './service.ts';
import { topicCheck } from './topic-check.ts';

const classPath = await findKafka();

// Concurrent, since each test waits for others most of the time, and has a topic and a log of its own.
if (classPath === undefined) test.skip('Kafka', () => {});
else {
  const secure = process.env.KAFKA_TEST_BROKERS === undefined ? await secureListener() : undefined;
  const bench = await KafkaBench.open(classPath, secure?.extras);
  afterAll(async () => {
    await bench[Symbol.asyncDispose]();
    await secure?.[Symbol.asyncDispose]();
  });

  describe.concurrent('publishing', () => publishing(bench));
  describe.concurrent('a topic that is not what it was', () => mismatches(bench));
  describe.concurrent('the service', () => service(bench));
  describe.concurrent('the audit of a topic', () => topicCheck(bench));
  describe.concurrent('an erasure', () => erasure(bench));
  describe.concurrent('plantstore doctor', () => doctor(bench));
  if (secure !== undefined) describe.concurrent('a broker that asks who is there', () => security(bench, secure));
}
