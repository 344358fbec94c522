import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka as KafkaJs, logLevel } from 'kafkajs';
import { headAt, seal } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../../../src/log/event/event.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { partitioner } from '../../../src/publisher/kafka/client.ts';
import { kafkaTopic } from '../../../src/publisher/kafka/kafka-topic.ts';
import { type EventMessage, eventMessage } from '../../../src/publisher/message.ts';
import { Publisher } from '../../../src/publisher/publisher.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { Kafka } from '../../../test/support/kafka.ts';
import { findKafka } from '../../../test/support/kafka-library.ts';
import { kafkaOptions } from '../../../test/support/publication.ts';
import { type Comparison, compare, type Effort, type Measured, type Side } from '../compare.ts';
import { LoadGenerator } from '../load/generator.ts';
import { ADD, FIRST_ID } from '../plants.ts';
import { developmentToken, plantstore } from '../plantstore.ts';
import type { Results } from '../report/report.ts';
import type { Bench } from '../resources.ts';

const BACKLOG = 100_000;
/** Events of a batch while catching up, and of one request to a partition: what the publisher comes to. */
const BATCH = 4_000;
const REQUEST = 500;
const PARTITIONS = 3;
/** Milliseconds between two events of the light load. */
const LIGHT = 50;
const CONNECTIONS = 64;

let topics = 0;
const newTopic = (): string => `bench-${topics++}`;

/** Publication beside plain sends of the same messages, its latency, and what it costs those who add. */
export async function kafka(bench: Bench, effort: Effort): Promise<Results> {
  const classPath = await findKafka();
  if (classPath === undefined) return {};
  const broker = await Kafka.start(classPath);
  bench.defer(() => broker[Symbol.asyncDispose]());
  const backlog = await catchingUp(bench, broker, effort);
  await latency(bench, broker, effort);
  return { comparison: { ...backlog, ...(await adding(bench, broker, effort)) } };
}

async function catchingUp(bench: Bench, { brokers }: Kafka, effort: Effort): Promise<Comparison> {
  const store = openSqlite(bench.directory());
  bench.defer(() => store.close());
  const events = series(EMPTY_HEAD, BACKLOG);
  for (let from = 0; from < BACKLOG; from += BATCH) await store.append(events.slice(from, from + BATCH));

  const publish = async () => {
    const topic = kafkaTopic(kafkaOptions(brokers, newTopic()));
    const publisher = new Publisher({ store, topic, onChange: () => {} });
    while (publisher.status().published !== BACKLOG) await sleep(5);
    await publisher.close();
  };

  const client = new KafkaJs({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const [admin, producer] = [client.admin(), client.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  bench.defer(() => Promise.all([admin.disconnect(), producer.disconnect()]));
  const partitionOf = partitioner(PARTITIONS);
  const send = async () => {
    const topic = newTopic();
    await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS }] });
    for (let from = 0; from < BACKLOG; from += BATCH) {
      const lanes = Array.from({ length: PARTITIONS }, (): (EventMessage & { partition: number })[] => []);
      for (const message of events.slice(from, from + BATCH).map((event) => eventMessage(event)!)) {
        const partition = partitionOf(message.key);
        lanes[partition]!.push({ ...message, partition });
      }
      await Promise.all(
        lanes.map(async (messages) => {
          for (let at = 0; at < messages.length; at += REQUEST)
            await producer.send({ topic, messages: messages.slice(at, at + REQUEST) });
        }),
      );
    }
  };
  const side = (name: string, work: () => Promise<void>): Side => ({ name, run: () => timed(work) });
  return compare(
    [`${BACKLOG} events to Kafka, batches of ${BATCH} (p50, p99: all of them)`],
    [side('publisher, exactly once', publish), side('plain kafkajs sends', send)],
    effort,
  );
}

/** One pass over the backlog as a round. */
async function timed(work: () => Promise<void>): Promise<Measured> {
  const [before, start] = [process.cpuUsage(), performance.now()];
  await work();
  const took = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  const cpu = (user + system) / BACKLOG;
  const rate = (BACKLOG * 1000) / took;
  return { count: BACKLOG, rate, p50: took, p99: took, max: took, service: cpu, cpu, client: 0 };
}

/** From the commit of an event to the moment at which a consumer that reads committed records has it. */
async function latency(bench: Bench, { brokers }: Kafka, { rounds, seconds }: Effort): Promise<void> {
  const store = openSqlite(bench.directory());
  const settings = kafkaOptions(brokers, newTopic());
  const publisher = new Publisher({ store, topic: kafkaTopic(settings), onChange: () => {} });
  bench.defer(() => publisher.close().then(() => store.close()));
  while (publisher.status().state !== 'publishing') await sleep(50);

  const client = new KafkaJs({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const consumer = client.consumer({ groupId: 'bench', maxWaitTimeInMs: 1_000 });
  bench.defer(() => consumer.disconnect());
  const committed = new Map<number, number>();
  const times: number[] = [];
  await consumer.connect();
  await consumer.subscribe({ topics: [settings.topic], fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ message }) => {
      times.push(performance.now() - committed.get(Number(message.headers!['plantstore-position']))!);
    },
  });

  const total = (rounds * seconds * 1000) / LIGHT;
  let head = EMPTY_HEAD;
  for (let event = 0; event < total; event++) {
    const [next] = series(head, 1) as [LoggedEvent];
    await store.append([next]);
    head = headAt(next);
    committed.set(head.position, performance.now());
    await sleep(LIGHT * 2 * Math.random());
  }
  while (times.length < total) await sleep(50);
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)]!.toFixed(0);
  console.log(
    `\nFrom commit to consumer at ${1000 / LIGHT} events a second, ${total} events\n  p50 ${at(0.5)} ms  p99 ${at(0.99)} ms`,
  );
}

async function adding(bench: Bench, { brokers }: Kafka, effort: Effort): Promise<Comparison> {
  const load = new LoadGenerator();
  bench.defer(() => load.stop());
  const start = async (name: string, environment: Record<string, string>): Promise<Side> => {
    const directory = bench.directory();
    const server = await bench.server(plantstore(directory, environment));
    const job = {
      protocol: 'http',
      urls: [server.url],
      tokens: [developmentToken(directory, 'adder')],
      requests: [ADD],
      connections: CONNECTIONS,
    } as const;
    let from = FIRST_ID;
    const run = async (_: string, seconds: number): Promise<Measured> => {
      const before = server.cpu();
      const done = await load.run({ ...job, seconds, ids: { from, to: Number.POSITIVE_INFINITY } });
      from = done.nextId;
      // What was not published yet would load the next round.
      if (name === 'Kafka on') await caughtUp(server.adminUrl);
      const cpu = (server.cpu() - before) / done.count;
      return { ...done, service: cpu, cpu };
    };
    return { name, run };
  };
  const sides = [
    await start('Kafka on', { KAFKA_BROKERS: brokers.join(), KAFKA_TOPIC: newTopic() }),
    await start('Kafka off', {}),
    await start('Kafka down', { KAFKA_BROKERS: `127.0.0.1:${await freePort()}` }),
  ];
  return compare([`POST /plants, ${CONNECTIONS} connections, SQLite`], sides, effort);
}

/** Resolves when nothing waits to be published. */
async function caughtUp(adminUrl: string): Promise<void> {
  for (; ; await sleep(200)) {
    const { dependencies } = (await (await fetch(`${adminUrl}/readyz`)).json()) as {
      dependencies: { name: string; detail?: string }[];
    };
    const detail = dependencies.find(({ name }) => name === 'kafka')?.detail ?? '';
    if (detail.includes('published') && !detail.includes('wait')) return;
  }
}

/** So many events after a head, chained. */
function series(head: Head, count: number): LoggedEvent[] {
  let last = head;
  return Array.from({ length: count }, () => {
    const id = BigInt(last.position);
    const event = { owner: 'adder', actor: 'adder', plantId: id, name: 'Monstera', tag: 'indoor' };
    const sealed = seal(last, { type: 'PlantAdded', ...event }, crypto.randomUUID(), Date.now());
    last = headAt(sealed);
    return sealed;
  });
}
