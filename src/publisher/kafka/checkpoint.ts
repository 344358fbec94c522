import type { Published } from '../topic.ts';
import type { CommittedOffset, OffsetRange } from './client.ts';

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
  throw new Error(
    `the committed offset ${offset} was not written by the publisher; another consumer may use its group`,
  );
}

/** Whether the partitions of a topic contain the last events of the checkpoint. */
export const reaches = (ranges: readonly OffsetRange[], { ends }: Pick<PublisherCheckpoint, 'ends'>): boolean =>
  ends.every((end, partition) => (ranges[partition]?.high ?? -1) > end);
