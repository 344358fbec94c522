import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, type IHeaders, Kafka, logLevel, Partitioners, type SASLOptions, type Transaction } from 'kafkajs';
import type {
  CommittedOffset,
  Consumer,
  Consumption,
  KafkaConnection,
  OffsetRange,
  TransactionalProducer,
} from './client-types.ts';
import { Sockets } from './sockets.ts';

hideTimerWarnings();

/**
 * Retries within the library. The first pause is short, because most transactions need one while Kafka completes the
 * previous transaction.
 */
const RETRY = { initialRetryTime: 5, multiplier: 3, maxRetryTime: 1_000, retries: 6 };
/** Most milliseconds for which `patiently` begins another attempt, and those between two attempts. */
const PATIENCE = 10_000;
const ATTEMPT_PAUSE = 100;
/** Most milliseconds for a connection, and for a response. */
const CONNECTION_TIMEOUT = 3_000;
const REQUEST_TIMEOUT = 10_000;

/** The Kafka client for publication. Only this file depends on the client library. */
export class KafkaClient {
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #sockets = new Sockets();

  constructor({ brokers, ssl, sasl }: KafkaConnection) {
    this.#kafka = new Kafka({
      clientId: 'plantstore',
      brokers: [...brokers],
      ssl,
      ...(sasl && { sasl: sasl as SASLOptions }),
      connectionTimeout: CONNECTION_TIMEOUT,
      requestTimeout: REQUEST_TIMEOUT,
      socketFactory: (connection) => this.#sockets.connect(connection),
      retry: RETRY,
      // Every failure that matters rejects a call; the library would log each attempt.
      logLevel: logLevel.NOTHING,
    });
    this.#admin = this.#kafka.admin();
  }

  /** Rejects if no broker is reachable, or if the brokers refuse the credentials. */
  connect(): Promise<void> {
    return this.#admin.connect();
  }

  /** Closes all connections. Pending calls fail. */
  close(): void {
    this.#sockets.close();
  }

  /** Whether a topic exists. */
  async hasTopic(topic: string): Promise<boolean> {
    try {
      await this.#admin.fetchTopicMetadata({ topics: [topic] });
      return true;
    } catch (error) {
      if ((error as { type?: string }).type === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
      throw error;
    }
  }

  /**
   * Creates a topic, which may take a moment to appear. For undefined partitions or replicas, the broker's defaults
   * apply.
   */
  async createTopic(
    topic: string,
    partitions: number | undefined,
    replication: number | undefined,
    settings: Readonly<Record<string, string>>,
  ): Promise<void> {
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const creation = { topic, numPartitions: partitions ?? -1, replicationFactor: replication ?? -1, configEntries };
    try {
      await this.#admin.createTopics({ topics: [creation], waitForLeaders: false });
    } catch (error) {
      // The library collects the errors of all topics.
      throw (error as { errors?: Error[] }).errors?.[0] ?? error;
    }
  }

  /** The offsets of each partition of a topic. Rejects if the topic does not exist. */
  async ranges(topic: string): Promise<OffsetRange[]> {
    const partitions = await patiently(() => this.#admin.fetchTopicOffsets(topic));
    return partitions
      .sort((a, b) => a.partition - b.partition)
      .map(({ low, high }) => ({ low: Number(low), high: Number(high) }));
  }

  /** The committed offset of a consumer group for partition 0 of a topic, if there is one. */
  async committed(group: string, topic: string): Promise<CommittedOffset | undefined> {
    const [found] = await patiently(() => this.#admin.fetchOffsets({ groupId: group, topics: [topic] }));
    const partition = found?.partitions.find((of) => of.partition === 0);
    if (partition === undefined || Number(partition.offset) < 0) return undefined;
    return { offset: Number(partition.offset), metadata: partition.metadata ?? '' };
  }

  /**
   * Creates the only producer of a transactional id. When this resolves, the previous producer is fenced, and its
   * transaction is aborted or committed. Kafka aborts a transaction that takes longer than `timeout` milliseconds.
   */
  async producer(transactionalId: string, timeout: number): Promise<TransactionalProducer> {
    const producer = this.#kafka.producer({
      transactionalId,
      transactionTimeout: timeout,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    // The library initialises the producer with its first transaction. In Kafka, that begins with the first record.
    let transaction: Promise<Transaction> | undefined = producer.transaction();
    await transaction;
    const current = () => {
      transaction ??= producer.transaction();
      return transaction;
    };
    return {
      async send(topic, partition, messages) {
        const { send } = await current();
        // One partition per request: with several, the library could send one twice when a leader moves.
        const [sent] = await send({ topic, messages: messages.map((message) => ({ ...message, partition })) });
        return Number(sent!.baseOffset);
      },
      async commit(consumerGroupId, topic, { offset, metadata }) {
        const { sendOffsets, commit } = await current();
        const partition = { partition: 0, offset: String(offset), metadata };
        await sendOffsets({ consumerGroupId, topics: [{ topic, partitions: [partition] }] });
        await commit();
        transaction = undefined;
      },
    };
  }

  /** Reads the committed records of a topic, each partition from an offset. No other consumer may use the group. */
  async consume(topic: string, group: string, from: readonly number[], consumer: Consumer): Promise<Consumption> {
    const retry = { ...RETRY, restartOnFailure: async () => false };
    const reading = this.#kafka.consumer({
      groupId: group,
      allowAutoTopicCreation: false,
      maxWaitTimeInMs: 250,
      retry,
    });
    const { END_BATCH_PROCESS, CRASH } = reading.events;
    reading.on(END_BATCH_PROCESS, ({ payload }) => consumer.onReached(payload.partition, Number(payload.lastOffset)));
    reading.on(CRASH, ({ payload }) => consumer.onFailure(payload.error));
    await reading.connect();
    await reading.subscribe({ topics: [topic], fromBeginning: true });
    await reading.run({
      autoCommit: false,
      eachBatch: async ({ batch: { partition, messages } }) =>
        consumer.onRecords(
          partition,
          messages.map(({ offset, key, value, headers }) => ({
            offset: Number(offset),
            key: String(key ?? ''),
            value: String(value ?? ''),
            headers: textOf(headers),
          })),
        ),
    });
    from.forEach((offset, partition) => {
      reading.seek({ topic, partition, offset: String(offset) });
    });
    return {
      pause: (partition) => reading.pause([{ topic, partitions: [partition] }]),
      resume: (partition) => reading.resume([{ topic, partitions: [partition] }]),
      end: () => reading.disconnect(),
    };
  }
}

/** Retries errors that Kafka calls retriable, such as while a new topic gets its leaders or a coordinator loads. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isTemporary(error) || performance.now() > deadline) throw error;
      await sleep(ATTEMPT_PAUSE);
    }
  }
}

/**
 * Whether a broker answered with an error that it calls retriable. After its own retries the library wraps that error
 * in one that is not retriable.
 */
function isTemporary(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause.name === 'KafkaJSProtocolError') return (cause as { retriable?: boolean }).retriable === true;
  return false;
}

/** Maps keys to partitions by murmur2, as Kafka's Java clients do. */
export function partitioner(partitions: number): (key: string) => number {
  const choose = Partitioners.DefaultPartitioner();
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    leader: 0,
    partitionErrorCode: 0,
    replicas: [],
    isr: [],
  }));
  return (key) => choose({ topic: '', partitionMetadata, message: { key, value: null } });
}

const textOf = (headers: IHeaders = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/**
 * Hides the warnings that newer versions of Node print because kafkajs sets timers in the past. Other warnings are
 * still printed.
 */
function hideTimerWarnings(): void {
  for (const print of process.listeners('warning')) {
    process.off('warning', print);
    process.on('warning', (warning) => {
      if (warning.name !== 'TimeoutNegativeWarning') print(warning);
    });
  }
}
