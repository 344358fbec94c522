import type { EventMessage } from '../message.ts';

/** How to reach Kafka. */
export interface KafkaConnection {
  /** HOST:PORT of some brokers, which name the others. */
  readonly brokers: readonly string[];
  /** Whether to use TLS, with the certificate authorities that Node trusts. */
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
export interface OffsetRange {
  /** Offset of the first record. */
  readonly low: number;
  /**
   * All records before this offset are committed or aborted. Without an open transaction, it is the offset of the next
   * record.
   */
  readonly high: number;
}

/** The committed offset of a consumer group for a partition. */
export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string;
}

/** A committed record. */
export interface TopicRecord extends EventMessage {
  readonly offset: number;
}

/** Receives what a consumption reads. */
export interface Consumer {
  /** The next committed records of a partition. */
  onRecords(partition: number, records: readonly TopicRecord[]): void;
  /** A partition is read up to and including an offset, aborted records included. */
  onReached(partition: number, offset: number): void;
  /** The consumption has failed; nothing more follows. */
  onFailure(error: Error): void;
}

/** A running consumption. */
export interface Consumption {
  pause(partition: number): void;
  resume(partition: number): void;
  end(): Promise<void>;
}

/** Runs one transaction at a time. For consumers of committed records, each is all or nothing. */
export interface TransactionalProducer {
  /** Adds records of one partition, in order. Resolves with the offset of the first. */
  send(topic: string, partition: number, messages: readonly EventMessage[]): Promise<number>;
  /**
   * Adds a consumer group's offset for partition 0 of a topic, and commits. After a rejection the outcome is unknown.
   */
  commit(group: string, topic: string, committed: CommittedOffset): Promise<void>;
}
