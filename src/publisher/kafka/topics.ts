import { MismatchError, type Published, reasonOf } from '../topic.ts';
import type { CommittedOffset, KafkaClient, OffsetRange } from './client.ts';

/**
 * The names that the publisher uses in Kafka. All begin with that of the topic of events, so one prefixed ACL covers
 * them.
 */
export const namesFor = (topic: string) => ({
  topic,
  /** An empty topic with the checkpoint's offset, which has to outlive the topic of events to reveal its loss. */
  checkpoint: `${topic}.checkpoint`,
  /** The consumer group whose offset is the checkpoint. It has no consumers. */
  group: `${topic}.publisher`,
  /** Kafka allows a transactional id one producer at a time. */
  transactionalId: `${topic}.publisher`,
});

/** See namesFor. */
export type Names = ReturnType<typeof namesFor>;

/** Settings of created topics. Undefined: the broker's default. */
export interface TopicSettings {
  /** Partitions of the topic of events. */
  readonly partitions: number | undefined;
  /** Replicas of each partition. */
  readonly replication: number | undefined;
  /** Seconds for which the topic of events keeps an event; 0: forever. */
  readonly retention: number;
}

/** The part of the retention after which Kafka begins a new segment. */
const SEGMENT_PART = 1 / 7;

/**
 * Topic settings for a retention in seconds, of any size; 0: forever. It counts by the clock of the broker, which would
 * refuse the records of an instance whose clock is ahead, and delete those of one whose clock is behind. Kafka deletes
 * whole segments, once their last record is that old, and by default writes to one for a week: so its time is bounded,
 * too.
 */
const kept = (seconds: number) => ({
  'cleanup.policy': 'delete',
  'message.timestamp.type': 'LogAppendTime',
  'retention.ms': seconds === 0 ? '-1' : String(seconds * 1_000),
  'retention.bytes': '-1',
  ...(seconds > 0 && { 'segment.ms': String(Math.ceil(seconds * 1_000 * SEGMENT_PART)) }),
});

/** Creates missing topics. Rejects if it may not, and with MismatchError if a topic is gone that had events. */
export async function createTopics(client: KafkaClient, names: Names, settings: TopicSettings): Promise<void> {
  if (!(await client.hasTopic(names.checkpoint)))
    await create(client, names.checkpoint, { ...settings, partitions: 1, retention: 0 });
  if (await client.hasTopic(names.topic)) return;
  const committed = await client.committed(names.group, names.checkpoint);
  if (committed !== undefined && committed.offset > 0)
    throw new MismatchError(`the topic ${names.topic} is gone, after ${committed.offset} events were published to it`);
  await create(client, names.topic, settings);
}

async function create(
  client: KafkaClient,
  topic: string,
  { partitions, replication, retention }: TopicSettings,
): Promise<void> {
  try {
    await client.createTopic(topic, partitions, replication, kept(retention));
    // Waits until each partition has a leader.
    await client.ranges(topic);
  } catch (error) {
    throw new Error(`the topic ${topic} does not exist, and creating it failed: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * The state of the publisher, committed to Kafka in the same transaction as the events. The offset of a consumer group
 * stores the position of the last event; the offset's metadata stores the rest.
 */
export interface PublisherCheckpoint extends Published {
  /**
   * For each partition, the offset of its last event; -1 if it has none. Keys are distributed over this number of
   * partitions, even if the topic has more today, so that a plant's events never move to another partition.
   */
  readonly ends: readonly number[];
}

/** The checkpoint before the first event. */
export const emptyCheckpoint = (partitions: number): PublisherCheckpoint => ({
  position: 0,
  hash: '',
  ends: Array.from({ length: partitions }, () => -1),
});

/** Encodes a checkpoint for Kafka. */
export const toCommitted = ({ position, hash, ends }: PublisherCheckpoint): CommittedOffset => ({
  offset: position,
  metadata: JSON.stringify({ hash, ends }),
});

/** Decodes a checkpoint from Kafka. Throws if the publisher did not write it. */
export function fromCommitted({ offset, metadata }: CommittedOffset): PublisherCheckpoint {
  try {
    const { hash, ends } = JSON.parse(metadata) as { hash: unknown; ends: unknown };
    if (typeof hash === 'string' && Array.isArray(ends) && ends.length > 0 && ends.every(Number.isSafeInteger))
      return { position: offset, hash, ends };
  } catch {
    // Throws below.
  }
  throw new MismatchError(
    `the committed offset ${offset} was not written by the publisher; another consumer may use its group`,
  );
}

/** Whether the partitions of a topic contain the last events of the checkpoint. */
export const reaches = (ranges: readonly OffsetRange[], { ends }: Pick<PublisherCheckpoint, 'ends'>): boolean =>
  ends.every((end, partition) => (ranges[partition]?.stable ?? -1) > end);
