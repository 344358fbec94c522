/** The names that the publisher uses in Kafka. All begin with the topic's name, so one prefixed ACL covers them. */
export interface Names {
  /** The topic of the events. */
  readonly topic: string;
  /**
   * An empty topic for the checkpoint's offset. Kafka deletes offsets with their topic, but the checkpoint must outlive
   * the topic of events, to reveal its loss.
   */
  readonly checkpoint: string;
  /** The consumer group whose offset is the checkpoint. It has no consumers. */
  readonly group: string;
  /** The transactional id. Kafka allows it one producer at a time. */
  readonly transactionalId: string;
}

/** The names for a topic of events. */
export const namesFor = (topic: string): Names => ({
  topic,
  checkpoint: `${topic}.checkpoint`,
  group: `${topic}.publisher`,
  transactionalId: `${topic}.publisher`,
});
