import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { KafkaClient } from '../../../src/publisher/kafka/client.ts';
import type { KafkaOptions } from '../../../src/publisher/kafka/kafka-topic.ts';
import { namesFor } from '../../../src/publisher/kafka/topics.ts';
import type { Kafka } from '../../support/kafka.ts';
import { readTopicByKafka } from '../../support/kafka-records.ts';
import { sorted, upTo } from './series.ts';

/** Resolves when the checkpoint says that the topic reaches a position. The broker may be away meanwhile. */
export async function reaches(settings: KafkaOptions, position: number): Promise<void> {
  const { group, checkpoint } = namesFor(settings.topic);
  for (; ; await sleep(100)) {
    const client = new KafkaClient(settings);
    try {
      await client.connect();
      if ((await client.committed(group, checkpoint))?.offset === position) return;
    } catch {
      // The broker is not back yet.
    } finally {
      client.close();
    }
  }
}

/** Whether a topic of three partitions holds the positions 1 to `end`, each once, and each partition in order. */
export async function expectEachOnceInOrder(broker: Kafka, topic: string, end: number): Promise<void> {
  const published = await readTopicByKafka(broker, topic);
  expect(sorted(published.map(({ position }) => position))).toEqual(upTo(end));
  for (const partition of [0, 1, 2]) {
    const positions = published.filter((one) => one.partition === partition).map(({ position }) => position);
    expect(positions).toEqual(sorted(positions));
  }
}
