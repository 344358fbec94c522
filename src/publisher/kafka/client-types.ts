import type { EventMessage } from '../message.ts';

/** How to reach Kafka. */
export interface KafkaConnection {
  /** HOST:PORT of some brokers; they name the others. */
  readonly brokers: readonly string[];
  /** TLS, verified against the certificate authorities that Node trusts. */
  readonly ssl: boolean;
  readonly sasl:
    | {
        readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
        readonly username: string;
        readonly password: string;
      }
    | undefined;
}

/** Offsets of a partition. */
export interface Range {
  /** Of its first record. */
  readonly low: number;
  /** All before this one is committed or aborted: with no transaction open, it is where the next record goes. */
  readonly high: number;
}

/** What a consumer group has committed for a partition. */
export interface Committed {
  readonly offset: number;
  readonly metadata: string;
}

/** A committed record. */
export interface TopicRecord extends EventMessage {
  readonly offset: number;
}

/** Hears of what a consumption reads. */
export interface Consumer {
  /** The next committed records of a partition. */
  onRecords(partition: number, records: readonly TopicRecord[]): void;
  /** A partition has been read up to and including an offset, what was aborted among it. */
  onReached(partition: number, offset: number): void;
  /** Nothing more will come. */
  onFailure(error: Error): void;
}

/** A consumption that goes on until it is ended. */
export interface Consumption {
  pause(partition: number): void;
  resume(partition: number): void;
  end(): Promise<void>;
}

/** One transaction after the other, each all or nothing for consumers that read committed records. */
export interface TransactionalProducer {
  /** Adds records of one partition, in order. Resolves with the offset of the first. */
  send(topic: string, partition: number, messages: readonly EventMessage[]): Promise<number>;
  /** Adds a consumer group's offset for partition 0 of a topic, and commits. After a rejection nobody knows whether it did. */
  commit(group: string, topic: string, committed: Committed): Promise<void>;
}
