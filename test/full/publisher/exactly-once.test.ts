import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, test } from 'vitest';
import { dropDatabase, HAS_MONGODB, newDatabase } from '../../store/open-mongo.ts';
import { client } from '../../support/http.ts';
import { Kafka } from '../../support/kafka.ts';
import { findKafka } from '../../support/kafka-library.ts';
import { dataDirectory, kafkaOptions } from '../../support/publication.ts';
import { type Service, startService } from '../../support/service.ts';
import { count, SOAK } from '../../support/soak.ts';
import { expectEachOnceInOrder, reaches } from './outcome.ts';
import { eventually } from './series.ts';

const CLIENTS = 8;

const classPath = await findKafka();
const kafka = classPath === undefined || !HAS_MONGODB ? undefined : await Kafka.start(classPath);
afterAll(() => kafka?.[Symbol.asyncDispose]());

/** Which of the services said last that it publishes. */
const leaderOf = (services: readonly Service[]): number =>
  services.findIndex(({ logs }) => {
    const last = logs.findLast(({ publication }) => publication !== undefined)?.publication;
    return (last as { state?: string } | undefined)?.state === 'publishing';
  });

/**
 * Adds a plant by whichever service answers. An answer that got lost is asked for again: then the plant may exist
 * already.
 */
async function add(services: readonly Service[], token: string, id: number): Promise<void> {
  for (let attempt = id; ; attempt++) {
    const service = services[attempt % services.length]!;
    const body = JSON.stringify({ id, name: 'Fern' });
    const reply = await client(service.url, token)('POST', '/plants', { body }).catch(() => undefined);
    if (reply?.status === 200 || (reply?.status === 400 && JSON.parse(reply.text).error === 6)) return;
    if (reply !== undefined && reply.status !== 503) throw new Error(`${reply.status} ${reply.text}`);
    await sleep(50);
  }
}

test.skipIf(kafka === undefined)(
  'through killed services and a broker that goes and comes, each event is on the topic once and in order',
  async () => {
    const [broker, mongodb, total] = [kafka!, newDatabase(), count(500, 20_000)];
    using directory = dataDirectory();
    const settings = kafkaOptions(broker.brokers, `exactly-once-${Date.now()}`);
    const start = () =>
      startService({
        DATA_DIR: directory.path,
        MONGODB_URI: mongodb,
        KAFKA_BROKERS: broker.brokers.join(),
        KAFKA_TOPIC: settings.topic,
        KAFKA_PARTITIONS: '3',
      });
    const services = await Promise.all([start(), start()]);
    const somebodyPublishes = () =>
      eventually(
        async () => leaderOf(services),
        (leader) => leader !== -1,
      );

    let added = 0;
    const adding = Array.from({ length: CLIENTS }, async (_, lane) => {
      const token = await services[0]!.token('alice');
      for (let id = lane; id < total; id += CLIENTS) {
        await add(services, token, id);
        added++;
        await sleep(Math.random() * 100);
      }
    });

    const killLeader = async () => {
      const victim = leaderOf(services);
      await services[victim]!.kill();
      services[victim] = await start();
    };
    const restart = async (stop: () => Promise<void>) => {
      await stop();
      await sleep(Math.random() * 1_000);
      await broker.restart();
    };
    const faults = [
      async () => {
        // Killed in the middle of a transaction: what it had sent is still taken in afterwards.
        broker.signal('SIGSTOP');
        await sleep(200 + Math.random() * 300);
        const killed = killLeader();
        await sleep(100);
        broker.signal('SIGCONT');
        await killed;
      },
      () => restart(() => broker.stop()),
      ...(SOAK ? [killLeader, () => restart(() => broker.kill())] : []),
    ];
    do {
      for (const fault of faults) {
        await somebodyPublishes();
        await sleep(Math.random() * 1_000);
        await fault();
      }
    } while (added < total);
    await Promise.all(adding);
    await reaches(settings, total);
    await Promise.all(services.map((service) => service.stop()));
    await dropDatabase(mongodb);
    await expectEachOnceInOrder(broker, settings.topic, total);
  },
  count(180_000, 1_800_000),
);
