import type { LoggedEvent } from '../../log/event/event.ts';
import { type EventMessage, eventMessage } from '../message.ts';
import { type ErasedOwners, type Published, type Session, TopicMismatchError } from '../topic.ts';
import { type Checkpoint, reaches, toCommitted } from './checkpoint.ts';
import { type KafkaClient, partitioner } from './client.ts';
import type { TransactionalProducer } from './client-types.ts';
import { within } from './deadline.ts';
import type { Names } from './names.ts';
import type { Recovered } from './recover.ts';

/** Milliseconds that a transaction may last: Kafka aborts it then. */
export const TRANSACTION_LIMIT = 30_000;
/** Most events in one request: for each message the client library copies the list of those before it. */
const REQUEST_EVENTS = 500;
/** Rough bytes of one request, well below the 1 MiB that a topic takes by default. */
const REQUEST_BYTES = 512 * 1024;
/** Bytes that a message takes beside its key and value, roughly. */
const OVERHEAD = 550;

/** Publishes batch by batch, each in one transaction together with the checkpoint. */
export class KafkaSession implements Session {
  readonly start: Published;
  readonly notice: string | undefined;
  readonly #client: KafkaClient;
  readonly #producer: TransactionalProducer;
  readonly #names: Names;
  readonly #partitionOf: (key: string) => number;
  #checkpoint: Checkpoint;

  constructor(client: KafkaClient, producer: TransactionalProducer, names: Names, { checkpoint, notice }: Recovered) {
    this.start = checkpoint;
    this.notice = notice;
    this.#client = client;
    this.#producer = producer;
    this.#names = names;
    this.#partitionOf = partitioner(checkpoint.ends.length);
    this.#checkpoint = checkpoint;
  }

  /** Without events it commits the checkpoint again, since Kafka forgets an offset that is not committed for long. */
  publish(events: readonly LoggedEvent[], erased: ErasedOwners = new Map()): Promise<void> {
    return within(TRANSACTION_LIMIT, this.#publish(events, erased));
  }

  close(): void {
    this.#client.close();
  }

  async #publish(events: readonly LoggedEvent[], erased: ErasedOwners): Promise<void> {
    const ends = [...this.#checkpoint.ends];
    if (events.length === 0 && !reaches(await this.#client.ranges(this.#names.topic), this.#checkpoint))
      throw this.#replaced();
    await Promise.all(
      [...this.#byPartition(events, erased)].map(async ([partition, messages]) => {
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

  #byPartition(events: readonly LoggedEvent[], erased: ErasedOwners): Map<number, EventMessage[]> {
    const partitions = new Map<number, EventMessage[]>();
    for (const event of events) {
      const message = eventMessage(event, erased.get(event.eventId));
      if (message === undefined) continue;
      const partition = this.#partitionOf(message.key);
      const messages = partitions.get(partition);
      if (messages === undefined) partitions.set(partition, [message]);
      else messages.push(message);
    }
    return partitions;
  }

  /** A partition's offsets only grow. */
  #replaced(): TopicMismatchError {
    return new TopicMismatchError(
      `the topic ${this.#names.topic} is not the one that events were published to: it was deleted and made anew`,
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
