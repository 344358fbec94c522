import { randomUUID } from 'node:crypto';
import type { KafkaClient } from './client.ts';
import type { Consumption, TopicRecord } from './client-types.ts';
import { within } from './deadline.ts';

/** Records to buffer for each partition. A running fetch may add more. */
const WAITING = 2_000;
/** Milliseconds without progress after which a read fails, for example because a transaction is left open. */
const WAIT_LIMIT = 30_000;
/** Most milliseconds for leaving the consumer group. */
const LEAVE = 3_000;

/** The buffered records of one partition. */
interface Lane {
  readonly records: TopicRecord[];
  /** Offset of the next record to accept. The library may fetch records twice, or before it has sought to the start. */
  next: number;
  /** Offset before which to read. */
  readonly end: number;
  done: boolean;
  paused: boolean;
}

/**
 * Reads the committed records of a topic up to its end at the start. The caller chooses the partition of each next
 * record.
 */
export class TopicReader {
  readonly #lanes: readonly Lane[];
  #consumption: Consumption | undefined;
  #failure: Error | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(lanes: readonly Lane[]) {
    this.#lanes = lanes;
  }

  /** Reads each partition from an offset. `group` is the prefix of the name of a new consumer group. */
  static async open(client: KafkaClient, topic: string, group: string, from: readonly number[]): Promise<TopicReader> {
    const ranges = await client.ranges(topic);
    const starts = ranges.map(({ low, high }, partition) => Math.max(from[partition] ?? high, low));
    const reader = new TopicReader(
      ranges.map(({ high: end }, index) => {
        const next = starts[index]!;
        return { records: [], next, end, done: next >= end, paused: false };
      }),
    );
    if (reader.#lanes.some(({ done }) => !done)) {
      const consuming = client.consume(topic, `${group}.${randomUUID()}`, starts, {
        onRecords: (partition, records) => reader.#take(partition, records),
        onReached: (partition, offset) => reader.#reached(partition, offset),
        onFailure: (error) => reader.#fail(error),
      });
      reader.#consumption = await within(WAIT_LIMIT, consuming);
    }
    return reader;
  }

  /** The next record of a partition; undefined at its end, or if there is no such partition. */
  async next(partition: number): Promise<TopicRecord | undefined> {
    const lane = this.#lanes[partition];
    if (lane === undefined) return undefined;
    while (lane.records.length === 0 && !lane.done) {
      if (this.#failure !== undefined) throw this.#failure;
      await within(WAIT_LIMIT, this.#changed.promise);
    }
    const record = lane.records.shift();
    if (lane.paused && lane.records.length < WAITING / 2) {
      lane.paused = false;
      this.#consumption?.resume(partition);
    }
    return record;
  }

  /** Leaves the consumer group if Kafka responds. Otherwise closing the client ends the connections. */
  async close(): Promise<void> {
    if (this.#consumption !== undefined) await within(LEAVE, this.#consumption.end()).catch(() => {});
  }

  #take(partition: number, records: readonly TopicRecord[]): void {
    const lane = this.#lanes[partition]!;
    for (const record of records) {
      if (record.offset < lane.next || record.offset >= lane.end) continue;
      lane.records.push(record);
      lane.next = record.offset + 1;
    }
    // Records may arrive before `#consumption` is set; a later batch then pauses.
    if (!lane.paused && lane.records.length >= WAITING && this.#consumption !== undefined) {
      lane.paused = true;
      this.#consumption.pause(partition);
    }
    this.#notify();
  }

  #reached(partition: number, offset: number): void {
    const lane = this.#lanes[partition]!;
    if (offset >= lane.end - 1) lane.done = true;
    this.#notify();
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#notify();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
