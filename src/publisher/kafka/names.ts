/** The names that a topic's publisher uses in Kafka; all begin with the topic's, so one prefixed ACL covers them. */
export interface Names {
  /** The topic of the events. */
  readonly topic: string;
  /**
   * An empty topic that the checkpoint belongs to. Kafka forgets a group's offsets with the topic they are for; the checkpoint has
   * to outlive the events, to tell that they are gone.
   */
  readonly checkpoint: string;
  /** The consumer group whose offset is the checkpoint. Nobody consumes in it. */
  readonly group: string;
  /** The transactional id. Kafka lets one producer at a time have it. */
  readonly transactionalId: string;
}

/** The names for a topic of events. */
export const namesFor = (topic: string): Names => ({
  topic,
  checkpoint: `${topic}.checkpoint`,
  group: `${topic}.publisher`,
  transactionalId: `${topic}.publisher`,
});
