import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlantEvent } from '../../src/domain/events.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import type { Store } from '../../src/log/store.ts';
import { type KafkaOptions, kafkaTopic } from '../../src/publisher/kafka/kafka-topic.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import type { PublisherStatus } from '../../src/publisher/status.ts';
import { append } from './events.ts';

/** Most milliseconds that a test waits for a publisher, also on a busy machine. */
const PATIENCE = 120_000;

/** Kafka settings for a test broker. */
export const kafkaOptions = (brokers: readonly string[], topic: string): KafkaOptions => ({
  brokers,
  topic,
  ssl: false,
  sasl: undefined,
  partitions: 3,
  replication: 1,
  retention: 0,
});

/** A publishing instance: the log in a data directory, and its publisher. */
export class Instance implements AsyncDisposable {
  readonly publisher: Publisher;
  /** Every change of its status, in order. */
  readonly changes: PublisherStatus[] = [];
  readonly #store: Store;
  #closed = false;

  private constructor(store: Store, kafka: KafkaOptions, onChange: (status: PublisherStatus) => void) {
    this.#store = store;
    this.publisher = new Publisher({
      store,
      topic: kafkaTopic(kafka),
      onChange: (status) => {
        this.changes.push(status);
        onChange(status);
      },
    });
  }

  static async start(
    directory: string,
    kafka: KafkaOptions,
    onChange: (status: PublisherStatus) => void = () => {},
  ): Promise<Instance> {
    return new Instance(openSqlite(directory), kafka, onChange);
  }

  /** Appends events at the end of the log. */
  append(...events: PlantEvent[]): Promise<LoggedEvent[]> {
    return append(this.#store, ...events);
  }

  /** Resolves when its status matches. Rejects with all its changes if that takes too long. */
  async until(wanted: (status: PublisherStatus) => boolean): Promise<PublisherStatus> {
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      const status = this.publisher.status();
      if (wanted(status)) return status;
      if (Date.now() > deadline)
        throw new Error(
          `the publisher went through ${JSON.stringify(this.changes)} and is now ${JSON.stringify(status)}`,
        );
      await sleep(20);
    }
  }

  /** Resolves when the whole log is on the topic. */
  async caughtUp(): Promise<void> {
    const { position } = await this.#store.head();
    await this.until(({ state, published }) => state === 'publishing' && published === position);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.publisher.close();
    await this.#store.close();
  }
}

/** A data directory that is removed at the end. */
export function dataDirectory(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'plantstore-publisher-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
