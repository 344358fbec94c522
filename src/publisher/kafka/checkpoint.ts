import type { Published } from '../topic.ts';
import type { Committed, Range } from './client-types.ts';

/**
 * What the publisher keeps in Kafka, in the same transaction as the events: as a consumer group's offset the position of the last
 * event, and as the offset's metadata the rest.
 */
export interface Checkpoint extends Published {
  /**
   * For each partition of the topic the offset of its last event, -1 where there is none. Their number is the number of partitions
   * that keys are spread over, whatever the topic has today: a plant's events never move to another partition.
   */
  readonly ends: readonly number[];
}

/** The checkpoint of a topic to which nothing was published. */
export const emptyCheckpoint = (partitions: number): Checkpoint => ({
  position: 0,
  hash: '',
  ends: Array.from({ length: partitions }, () => -1),
});

/** A checkpoint in the form in which Kafka keeps it. */
export const toCommitted = ({ position, hash, ends }: Checkpoint): Committed => ({
  offset: position,
  metadata: JSON.stringify({ hash, ends }),
});

/** The checkpoint that Kafka keeps. Throws when somebody else wrote what it keeps. */
export function fromCommitted({ offset, metadata }: Committed): Checkpoint {
  try {
    const { hash, ends } = JSON.parse(metadata) as { hash: unknown; ends: unknown };
    if (typeof hash === 'string' && Array.isArray(ends) && ends.length > 0 && ends.every(Number.isSafeInteger))
      return { position: offset, hash, ends };
  } catch {
    // Said below.
  }
  throw new Error(`the committed offset ${offset} was not written by the publisher`);
}

/** Whether a topic's partitions reach as far as the checkpoint says. */
export const reaches = (ranges: readonly Range[], { ends }: Pick<Checkpoint, 'ends'>): boolean =>
  ends.every((end, partition) => (ranges[partition]?.high ?? -1) > end);
