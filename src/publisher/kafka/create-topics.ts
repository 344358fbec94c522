import { TopicMismatchError } from '../topic.ts';
import type { KafkaClient } from './client.ts';
import type { Names } from './names.ts';

/** How to create what is missing. Undefined: as the broker does by default. */
export interface TopicSettings {
  /** Partitions of the topic of events. */
  readonly partitions: number | undefined;
  /** Replicas of each partition. */
  readonly replication: number | undefined;
}

/** The events are kept for good, unless an operator decides otherwise. */
const KEEP = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' };

/**
 * Creates the topics that are missing. Rejects when that is not allowed, and with TopicMismatchError when the topic was there and
 * events had been published to it.
 */
export async function createTopics(client: KafkaClient, names: Names, settings: TopicSettings): Promise<void> {
  if (!(await client.hasTopic(names.checkpoint))) await create(client, names.checkpoint, 1, settings.replication);
  if (await client.hasTopic(names.topic)) return;
  const committed = await client.committed(names.group, names.checkpoint);
  if (committed !== undefined && committed.offset > 0)
    throw new TopicMismatchError(
      `the topic ${names.topic} is gone, and ${committed.offset} events had been published to it`,
    );
  await create(client, names.topic, settings.partitions, settings.replication);
}

async function create(
  client: KafkaClient,
  topic: string,
  partitions: number | undefined,
  replication: number | undefined,
): Promise<void> {
  try {
    await client.createTopic(topic, partitions, replication, KEEP);
    // Resolves once each partition has got its leader.
    await client.ranges(topic);
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new Error(`the topic ${topic} does not exist and could not be created: ${reason}`, { cause: error });
  }
}
