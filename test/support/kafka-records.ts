import { Consumer, stringDeserializers } from '@platformatic/kafka';
import type { PlantAdded, PlantEvent } from '../../src/domain/events.ts';
import { plantFields } from '../../src/domain/plant.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { encoded } from './encoded.ts';
import type { Kafka } from './kafka.ts';

/** A record, as a consumer receives it. */
export interface KafkaRecord {
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

const READ_UNCOMMITTED = 0;
const READ_COMMITTED = 1;

/** All committed records of a topic up to its current end, in order for each partition. */
export async function readTopic(kafka: Kafka, topic: string): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = [];
  await eachRecord(kafka, topic, (record) => records.push(record));
  return records;
}

/** Passes on the same records one by one. Uses another client library than the publisher. */
export async function eachRecord(
  { brokers }: Kafka,
  topic: string,
  take: (record: KafkaRecord) => void,
): Promise<void> {
  const consumer = new Consumer({
    clientId: 'tests',
    groupId: crypto.randomUUID(),
    bootstrapBrokers: [...brokers],
    deserializers: stringDeserializers,
    isolationLevel: READ_COMMITTED,
    autocommit: false,
    maxWaitTime: 100,
  });
  try {
    const ends = (await consumer.listOffsets({ topics: [topic], isolationLevel: READ_UNCOMMITTED })).get(topic)!;
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest' });
    stream.on('data', ({ partition, offset, key, value, headers }) =>
      take({ partition, offset: Number(offset), key, value, headers: Object.fromEntries(headers) }),
    );
    await new Promise<void>((resolve, reject) => {
      stream.on('error', reject);
      stream.on('fetch', () => {
        const next = stream.offsetsToFetch;
        const reached = ends.every((end, partition) => (next.get(`${topic}:${partition}`) ?? 0n) >= end);
        if (reached && stream.readableLength === 0) resolve();
      });
    });
    await stream.close();
  } finally {
    await consumer.close(true);
  }
}

/**
 * The same by the consumer that comes with Kafka, which alone tells whether each record was published once. The library
 * above delivers records of aborted transactions if a fetch has several of one producer. Takes some 15 s.
 */
export async function readTopicByKafka(kafka: Kafka, topic: string): Promise<PublishedPosition[]> {
  const printed = ['partition', 'offset', 'headers'].flatMap((what) => ['--property', `print.${what}=true`]);
  const lines = await kafka.run(
    'org.apache.kafka.tools.consumer.ConsoleConsumer',
    ...['--bootstrap-server', kafka.brokers.join(), '--topic', topic, '--from-beginning'],
    ...['--isolation-level', 'read_committed', '--timeout-ms', '10000', ...printed],
  );
  return [...lines.matchAll(/^Partition:(\d+)\t.*?plantstore-position:(\d+),/gm)].map(([, partition, position]) => ({
    partition: Number(partition),
    position: Number(position),
  }));
}

/** Where an event was published. */
export interface PublishedPosition {
  readonly partition: number;
  /** Of the event in the log. */
  readonly position: number;
}

/** Positions of the records, in the order of the topic. */
export const positionsOf = (records: readonly KafkaRecord[]): number[] =>
  records.map(({ headers }) => Number(headers['plantstore-position']));

/** The event of a record, from the record alone. */
export function eventOf({ headers, value }: KafkaRecord): LoggedEvent {
  const payload = parseExactly(value) as PlantAdded;
  const { owner, actor, plantId } = payload;
  const idempotencyKey = headers['plantstore-idempotency-key'];
  const issuer = headers['plantstore-issuer'];
  const plant = { owner, actor, issuer, plantId, idempotencyKey, traceparent: headers.ce_traceparent };
  const event: PlantEvent =
    headers.ce_type === 'plantstore.v1.PlantAdded'
      ? { type: 'PlantAdded', ...plant, ...plantFields(payload) }
      : { type: 'PlantDeleted', ...plant };
  return encoded({
    position: Number(headers['plantstore-position']),
    eventId: headers.ce_id!,
    time: Date.parse(headers.ce_time!),
    type: event.type,
    event,
    commitment: Buffer.from(headers['plantstore-commitment']!, 'hex'),
    salt: Buffer.from(headers['plantstore-salt']!, 'hex'),
    hash: Buffer.from(headers['plantstore-hash']!, 'hex'),
  });
}

/** JSON with its numbers as integers, exact to the last digit. */
const parseExactly = (json: string): unknown =>
  JSON.parse(json, (_, value, context?: { source?: string }) =>
    typeof value === 'number' ? BigInt(context!.source!) : value,
  );
