import type { LoggedEvent } from '../../log/event/event.ts';
import { type EventMessage, eventMessage } from '../message.ts';
import { mismatch, type Published, type Topic, type TopicSession } from '../topic.ts';
import { KafkaClient, type KafkaConnection, partitioner, type TransactionalProducer, within } from './client.ts';
import { type Recovered, recover } from './recover.ts';
import {
  createTopics,
  type Names,
  namesFor,
  type PublisherCheckpoint,
  reaches,
  type TopicSettings,
  toCommitted,
} from './topics.ts';

/** The name of the topic of events, how to connect to it, and how to create it. */
export interface KafkaOptions extends KafkaConnection, TopicSettings {
  readonly topic: string;
}

/** Most milliseconds to connect and become the only publisher. */
const OPEN_LIMIT = 30_000;

/** A topic on Kafka. To open it creates it if it never existed. */
export function kafkaTopic(options: KafkaOptions): Topic {
  const names = namesFor(options.topic);
  return {
    async open() {
      const client = new KafkaClient(options);
      try {
        const producer = await within(OPEN_LIMIT, takeOver(client, names, options));
        return new KafkaSession(client, producer, names, await recover(client, names));
      } catch (error) {
        client.close();
        throw error;
      }
    },
  };
}

/** When this resolves, no other publisher can publish, and no open transaction can change the checkpoint. */
async function takeOver(client: KafkaClient, names: Names, options: KafkaOptions): Promise<TransactionalProducer> {
  await client.connect();
  await createTopics(client, names, options);
  return client.producer(names.transactionalId, TRANSACTION_LIMIT);
}

/** Milliseconds after which Kafka aborts a transaction. */
const TRANSACTION_LIMIT = 30_000;
/** Most events in one request. The client library's time grows with the square of their number. */
const REQUEST_EVENTS = 500;
/** Approximate limit of a request in bytes, well below the 1 MiB that a topic accepts by default. */
const REQUEST_BYTES = 512 * 1024;
/** Approximate bytes of a message in addition to its key and value. */
const OVERHEAD = 550;

/** Publishes each batch in one transaction with the checkpoint. */
class KafkaSession implements TopicSession {
  readonly start: Published;
  readonly notice: string | undefined;
  readonly #client: KafkaClient;
  readonly #producer: TransactionalProducer;
  readonly #names: Names;
  readonly #partitionOf: (key: string) => number;
  #checkpoint: PublisherCheckpoint;

  constructor(client: KafkaClient, producer: TransactionalProducer, names: Names, { checkpoint, notice }: Recovered) {
    this.start = checkpoint;
    this.notice = notice;
    this.#client = client;
    this.#producer = producer;
    this.#names = names;
    this.#partitionOf = partitioner(checkpoint.ends.length);
    this.#checkpoint = checkpoint;
  }

  /** Without events, commits the checkpoint again, because Kafka expires old offsets. */
  publish(events: readonly LoggedEvent[]): Promise<void> {
    return within(TRANSACTION_LIMIT, this.#publish(events));
  }

  close(): void {
    this.#client.close();
  }

  async #publish(events: readonly LoggedEvent[]): Promise<void> {
    const ends = [...this.#checkpoint.ends];
    if (events.length === 0 && !reaches(await this.#client.ranges(this.#names.topic), this.#checkpoint))
      throw this.#replaced();
    await Promise.all(
      [...this.#byPartition(events)].map(async ([partition, messages]) => {
        for (const request of requests(messages)) {
          const offset = await this.#producer.send(this.#names.topic, partition, request);
          if (offset <= ends[partition]!) throw this.#replaced();
          ends[partition] = offset + request.length - 1;
        }
      }),
    );
    const last = events.at(-1);
    const { position, hash } = last
      ? { position: last.position, hash: Buffer.from(last.hash).toString('hex') }
      : this.#checkpoint;
    const checkpoint = { position, hash, ends };
    await this.#producer.commit(this.#names.group, this.#names.checkpoint, toCommitted(checkpoint));
    this.#checkpoint = checkpoint;
  }

  #byPartition(events: readonly LoggedEvent[]): Map<number, EventMessage[]> {
    const partitions = new Map<number, EventMessage[]>();
    for (const event of events) {
      const message = eventMessage(event);
      if (message === undefined) continue;
      for (const partition of this.#partitionsOf(event, message)) {
        const messages = partitions.get(partition);
        if (messages === undefined) partitions.set(partition, [message]);
        else messages.push(message);
      }
    }
    return partitions;
  }

  /** An owner's plants are in every partition. So a reader of one meets OwnerErased behind all that it erases there. */
  #partitionsOf({ type }: LoggedEvent, { key }: EventMessage): Iterable<number> {
    return type === 'OwnerErased' ? this.#checkpoint.ends.keys() : [this.#partitionOf(key)];
  }

  /** The error for offsets that are lower than before. */
  #replaced(): Error {
    return mismatch(
      `the topic ${this.#names.topic} is not the one that events were published to: it was deleted and created again`,
    );
  }
}

/** Splits messages of one partition into requests. */
function* requests(messages: readonly EventMessage[]): Generator<readonly EventMessage[]> {
  let request: EventMessage[] = [];
  let bytes = 0;
  for (const message of messages) {
    const size = OVERHEAD + Buffer.byteLength(message.key) * 2 + Buffer.byteLength(message.value);
    if (request.length === REQUEST_EVENTS || (request.length > 0 && bytes + size > REQUEST_BYTES)) {
      yield request;
      request = [];
      bytes = 0;
    }
    request.push(message);
    bytes += size;
  }
  if (request.length > 0) yield request;
}
