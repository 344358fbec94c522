import { runs } from '../../log/batches.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import { type EventMessage, eventMessage } from '../message.ts';
import { MismatchError, type Topic, type TopicSession } from '../topic.ts';
import { KafkaClient, type KafkaConnection, partitioner, type TransactionalProducer, within } from './client.ts';
import { type ResumePoint, resumePoint } from './resume.ts';
import { createTopics, type Names, namesFor, reaches, type TopicSettings, toCommitted } from './topics.ts';

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
        return kafkaSession(client, producer, names, await resumePoint(client, names));
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
const MAX_REQUEST_EVENTS = 500;
/** Approximate limit of a request in bytes, well below the 1 MiB that a topic accepts by default. */
const MAX_REQUEST_BYTES = 512 * 1024;
/** Approximate bytes of a message in addition to its key and value. */
const OVERHEAD_BYTES = 550;

/** Publishes each batch in one transaction with the checkpoint. */
function kafkaSession(
  client: KafkaClient,
  producer: TransactionalProducer,
  { topic, group, checkpoint: checkpoints }: Names,
  { checkpoint: start, notice }: ResumePoint,
): TopicSession {
  const partitionOf = partitioner(start.ends.length);
  let checkpoint = start;

  /** Without events, commits the checkpoint again, because Kafka expires old offsets. */
  async function publish(events: readonly LoggedEvent[]): Promise<void> {
    const ends = [...checkpoint.ends];
    if (events.length === 0 && !reaches(await client.ranges(topic), checkpoint)) throw replaced(topic);
    await Promise.all(
      byPartition(events, ends.length, partitionOf).map(async (messages, partition) => {
        for (const request of runs(messages, sizeOf, MAX_REQUEST_BYTES, MAX_REQUEST_EVENTS)) {
          const offset = await producer.send(topic, partition, request);
          if (offset <= ends[partition]!) throw replaced(topic);
          ends[partition] = offset + request.length - 1;
        }
      }),
    );
    const last = events.at(-1);
    const { position, hash } = last
      ? { position: last.position, hash: Buffer.from(last.hash).toString('hex') }
      : checkpoint;
    const next = { position, hash, ends };
    await producer.commit(group, checkpoints, toCommitted(next));
    checkpoint = next;
  }

  return {
    start,
    notice,
    publish: (events) => within(TRANSACTION_LIMIT, publish(events)),
    close: () => client.close(),
  };
}

/** An owner's plants are in every partition. So a reader of one meets OwnerErased behind all that it erases there. */
function byPartition(
  events: readonly LoggedEvent[],
  partitions: number,
  partitionOf: (key: string) => number,
): EventMessage[][] {
  const messages = Array.from({ length: partitions }, (): EventMessage[] => []);
  for (const event of events) {
    const message = eventMessage(event);
    if (message === undefined) continue;
    if (event.type === 'OwnerErased') for (const each of messages) each.push(message);
    else messages[partitionOf(message.key)]!.push(message);
  }
  return messages;
}

/** The error for offsets that are lower than before. */
const replaced = (topic: string): Error =>
  new MismatchError(
    `the topic ${topic} is not the one that events were published to: it was deleted and created again`,
  );

const sizeOf = ({ key, value }: EventMessage): number =>
  OVERHEAD_BYTES + Buffer.byteLength(key) * 2 + Buffer.byteLength(value);
