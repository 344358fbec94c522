import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, KafkaMessage } from 'kafkajs';
import type { EventMessage } from '../message.ts';
import { type KafkaClient, within } from './client.ts';

/** Records to buffer for each partition. A running fetch may add more. */
const MAX_BUFFERED = 2_000;
/** Milliseconds without progress after which a read fails, for example because a transaction is left open. */
const WAIT_LIMIT = 30_000;
/** Most milliseconds for leaving the consumer group. */
const LEAVE_LIMIT = 3_000;

/** A committed record. */
export interface TopicRecord extends EventMessage {
  readonly offset: number;
}

/** The buffered records of one partition. */
interface Lane {
  readonly records: TopicRecord[];
  /** Offset of the next record to accept. The library may fetch records twice, or before it has sought to the start. */
  next: number;
  /** Offset before which to read. */
  readonly end: number;
  done: boolean;
  /** Ends the pause of fetching. Undefined: there is none. */
  resume?: (() => void) | undefined;
}

/** Reads the committed records of a topic up to its end at the start. The caller chooses each next partition. */
export class TopicReader {
  readonly #lanes: readonly Lane[];
  #consumer: Consumer | undefined;
  #failure: Error | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(lanes: readonly Lane[]) {
    this.#lanes = lanes;
  }

  /** Reads each partition from an offset. `group` is the prefix of the name of a new consumer group. */
  static async open(client: KafkaClient, topic: string, group: string, from: readonly number[]): Promise<TopicReader> {
    const ranges = await client.ranges(topic);
    const lanes = ranges.map(({ low, stable: end }, partition): Lane => {
      const next = Math.max(from[partition] ?? end, low);
      return { records: [], next, end, done: next >= end };
    });
    const reader = new TopicReader(lanes);
    if (lanes.some(({ done }) => !done))
      await within(WAIT_LIMIT, reader.#consume(client.consumer(`${group}.${randomUUID()}`), topic));
    return reader;
  }

  /** The next record of a partition, until it is taken; undefined at its end, or if there is no such partition. */
  async peek(partition: number): Promise<TopicRecord | undefined> {
    const lane = this.#lanes[partition];
    if (lane === undefined) return undefined;
    while (lane.records.length === 0 && !lane.done) {
      if (this.#failure !== undefined) throw this.#failure;
      await within(WAIT_LIMIT, this.#changed.promise);
    }
    return lane.records[0];
  }

  /** Takes away the record that `peek` has given. */
  take(partition: number): void {
    const lane = this.#lanes[partition]!;
    lane.records.shift();
    if (lane.records.length >= MAX_BUFFERED / 2) return;
    lane.resume?.();
    lane.resume = undefined;
  }

  /** Leaves the consumer group if Kafka responds. Otherwise closing the client ends the connections. */
  async close(): Promise<void> {
    if (this.#consumer !== undefined) await within(LEAVE_LIMIT, this.#consumer.disconnect()).catch(() => {});
  }

  async #consume(consumer: Consumer, topic: string): Promise<void> {
    const { END_BATCH_PROCESS, CRASH } = consumer.events;
    // Of a batch, aborted records are no messages, but it reaches behind them.
    consumer.on(END_BATCH_PROCESS, ({ payload }) => this.#reached(payload.partition, Number(payload.lastOffset)));
    consumer.on(CRASH, ({ payload }) => this.#fail(payload.error));
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatch: async (payload) => this.#buffer(payload) });
    // Of a group that may not be joined, the library says at the next call only that it does not run.
    if (this.#failure !== undefined) throw this.#failure;
    for (const [partition, { next }] of this.#lanes.entries())
      consumer.seek({ topic, partition, offset: String(next) });
    this.#consumer = consumer;
  }

  #buffer({ batch: { partition, messages }, pause }: EachBatchPayload): void {
    const lane = this.#lanes[partition]!;
    // What is published meanwhile is no progress of whoever waits for another partition.
    if (lane.done) return;
    for (const message of messages) {
      const record = recordOf(message);
      if (record.offset < lane.next || record.offset >= lane.end) continue;
      lane.records.push(record);
      lane.next = record.offset + 1;
    }
    if (lane.records.length >= MAX_BUFFERED) lane.resume ??= pause();
    this.#notify();
  }

  #reached(partition: number, offset: number): void {
    const lane = this.#lanes[partition]!;
    if (lane.done) return;
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

const recordOf = ({ offset, key, value, headers = {} }: KafkaMessage): TopicRecord => ({
  offset: Number(offset),
  key: String(key ?? ''),
  value: String(value ?? ''),
  headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, String(text)])),
});
