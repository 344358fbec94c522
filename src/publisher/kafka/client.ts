import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import {
  type Admin,
  type Consumer,
  type ISocketFactoryArgs,
  Kafka,
  logLevel,
  Partitioners,
  type SASLOptions,
} from 'kafkajs';
import { withTimeout } from '../../time/pause.ts';
import type { EventMessage } from '../message.ts';

hideTimerWarnings();

/** Retries within the library. The first pause is short: Kafka mostly still completes the previous transaction. */
const RETRY = { initialRetryTime: 5, multiplier: 3, maxRetryTime: 1_000, retries: 6 };
/** Most milliseconds for which `patiently` begins another attempt, and those between two attempts. */
const RETRY_LIMIT = 10_000;
const ATTEMPT_PAUSE = 100;
/** Most milliseconds for a connection, and for a response. */
const CONNECTION_TIMEOUT = 3_000;
const REQUEST_TIMEOUT = 10_000;

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
  /** The last stable offset: all before it are committed or aborted. Without an open transaction, the next one. */
  readonly stable: number;
}

/** The committed offset of a consumer group for a partition. */
export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string;
}

/** Runs one transaction at a time. For consumers of committed records, each is all or nothing. */
export type TransactionalProducer = Awaited<ReturnType<KafkaClient['producer']>>;

/** Settles as the work does, or rejects after the given milliseconds. The work itself is not stopped. */
export const within = <T>(milliseconds: number, work: Promise<T>): Promise<T> =>
  withTimeout(work, milliseconds, () => new Error(`Kafka did not respond within ${milliseconds / 1000} s`));

/** The Kafka client for publication. Only this file and the reader depend on the client library. */
export class KafkaClient {
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  /** The open connections, to close them at once: the library's own disconnect would wait for pending requests. */
  readonly #sockets = new Set<Socket>();
  #isClosed = false;

  constructor({ brokers, ssl, sasl }: KafkaConnection) {
    this.#kafka = new Kafka({
      clientId: 'plantstore',
      brokers: [...brokers],
      ssl,
      // The library writes to it, and settings are frozen.
      ...(sasl && { sasl: { ...sasl } as SASLOptions }),
      connectionTimeout: CONNECTION_TIMEOUT,
      requestTimeout: REQUEST_TIMEOUT,
      socketFactory: (connection) => this.#socket(connection),
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
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy(new Error('closed'));
  }

  async hasTopic(topic: string): Promise<boolean> {
    try {
      await this.#admin.fetchTopicMetadata({ topics: [topic] });
      return true;
    } catch (error) {
      if ((error as { type?: string }).type === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
      throw error;
    }
  }

  /** Creates a topic, which may take a moment to appear. Undefined: the broker's default. */
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
      .map(({ low, high }) => ({ low: Number(low), stable: Number(high) }));
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
  async producer(transactionalId: string, timeout: number) {
    const producer = this.#kafka.producer({
      transactionalId,
      transactionTimeout: timeout,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    // The library initialises the producer with its first transaction. In Kafka, that begins with the first record.
    let transaction = await producer.transaction();
    return {
      /** Adds records of one partition, in order. Resolves with the offset of the first. */
      async send(topic: string, partition: number, messages: readonly EventMessage[]): Promise<number> {
        // One partition per request: with several, the library could send one twice when a leader moves.
        const [sent] = await transaction.send({
          topic,
          messages: messages.map((message) => ({ ...message, partition })),
        });
        return Number(sent!.baseOffset);
      },
      /** Adds a group's offset for partition 0 of a topic, and commits. A rejection leaves the outcome unknown. */
      async commit(consumerGroupId: string, topic: string, { offset, metadata }: CommittedOffset): Promise<void> {
        const partition = { partition: 0, offset: String(offset), metadata };
        await transaction.sendOffsets({ consumerGroupId, topics: [{ topic, partitions: [partition] }] });
        await transaction.commit();
        transaction = await producer.transaction();
      },
    };
  }

  /** A consumer of committed records, which ends at the first failure. No other may use the group. */
  consumer(groupId: string): Consumer {
    const retry = { ...RETRY, restartOnFailure: async () => false };
    return this.#kafka.consumer({ groupId, allowAutoTopicCreation: false, maxWaitTimeInMs: 250, retry });
  }

  #socket({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
    // The library's retries would connect again.
    if (this.#isClosed) throw new Error('closed');
    const servername = isIP(host) ? {} : { servername: host };
    const socket = ssl
      ? connectTls({ host, port, ...servername, ...ssl }, onConnect)
      : connectTcp({ host, port }, onConnect);
    socket.setKeepAlive(true, 60_000);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

/** Retries errors that Kafka calls retriable, such as while a new topic gets its leaders or a coordinator loads. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + RETRY_LIMIT;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isTemporary(error) || performance.now() > deadline) throw error;
      await sleep(ATTEMPT_PAUSE);
    }
  }
}

/** Whether a broker called its error retriable. After its own retries, the library wraps it in an error that is not. */
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

/** Hides Node's warnings of timers that kafkajs sets in the past, and no others. */
function hideTimerWarnings(): void {
  for (const print of process.listeners('warning')) {
    process.off('warning', print);
    process.on('warning', (warning) => {
      if (warning.name !== 'TimeoutNegativeWarning') print(warning);
    });
  }
}
