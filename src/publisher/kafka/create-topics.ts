import { TopicMismatchError } from '../topic.ts';
import type { KafkaClient } from './client.ts';
import type { Names } from './names.ts';

/** How to create what is missing. Undefined: as the broker does by default. */
export interface TopicSettings {
  /** Partitions of the topic of events. */
  readonly partitions: number | undefined;
  /** Replicas of each partition. */
  readonly replication: number | undefined;
  /** Seconds that the topic of events keeps an event; 0: for good. */
  readonly retention: number;
}

/** Kept for so many seconds, whatever their size; 0: for good. */
const kept = (seconds: number) => ({
  'cleanup.policy': 'delete',
  'retention.ms': seconds === 0 ? '-1' : String(seconds * 1_000),
  'retention.bytes': '-1',
});

/**
 * Creates the topics that are missing. Rejects when that is not allowed, and with TopicMismatchError when the topic was there and
 * events had been published to it.
 */
export async function createTopics(client: KafkaClient, names: Names, settings: TopicSettings): Promise<void> {
  if (!(await client.hasTopic(names.checkpoint)))
    await create(client, names.checkpoint, { ...settings, partitions: 1, retention: 0 });
  if (await client.hasTopic(names.topic)) return;
  const committed = await client.committed(names.group, names.checkpoint);
  if (committed !== undefined && committed.offset > 0)
    throw new TopicMismatchError(
      `the topic ${names.topic} is gone, and ${committed.offset} events had been published to it`,
    );
  await create(client, names.topic, settings);
}

async function create(
  client: KafkaClient,
  topic: string,
  { partitions, replication, retention }: TopicSettings,
): Promise<void> {
  try {
    await client.createTopic(topic, partitions, replication, kept(retention));
    // Resolves once each partition has got its leader.
    await client.ranges(topic);
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new Error(`the topic ${topic} does not exist and could not be created: ${reason}`, { cause: error });
  }
}
