import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { DATABASE_FILE, openSqlite } from '../../../src/log/sqlite/store.ts';
import type { KafkaOptions } from '../../../src/publisher/kafka/kafka-topic.ts';
import { append } from '../../support/events.ts';
import { Kafka } from '../../support/kafka.ts';
import { findKafka } from '../../support/kafka-library.ts';
import { positionsOf, readTopic } from '../../support/kafka-records.ts';
import { dataDirectory, Instance, kafkaOptions } from '../../support/publication.ts';
import { PublisherProcess } from '../../support/publisher-process.ts';
import { expectEachOnceInOrder, reaches } from './outcome.ts';
import { plants } from './series.ts';

const classPath = await findKafka();
const kafka = classPath === undefined ? undefined : await Kafka.start(classPath);
afterAll(() => kafka?.[Symbol.asyncDispose]());

/** A test with a broker of its own, which it may stop, a log, and a topic that nobody has used. */
function faultTest(
  name: string,
  run: (kafka: Kafka, directory: string, settings: KafkaOptions) => Promise<void>,
): void {
  test.skipIf(kafka === undefined)(
    name,
    async () => {
      using directory = dataDirectory();
      await run(kafka!, directory.path, kafkaOptions(kafka!.brokers, `faults-${Date.now()}`));
    },
    300_000,
  );
}

const publishing = ({ state }: { state: string }) => state === 'publishing';

faultTest(
  'without Kafka events are appended as ever; publication resumes by itself, and says so once',
  async (broker, directory, settings) => {
    await broker.stop();
    await using instance = await Instance.start(directory, settings);
    await instance.append(...plants(0, 100));
    await instance.until(({ state }) => state === 'degraded');
    await instance.append(...plants(100, 100));
    await sleep(2_000);
    expect(instance.changes).toMatchObject([{ state: 'degraded', detail: expect.stringContaining('ECONNREFUSED') }]);
    await broker.restart();
    await instance.caughtUp();

    broker.signal('SIGSTOP');
    await instance.append(...plants(200, 100));
    await instance.until(({ lagEvents, lagSeconds }) => lagEvents === 100 && lagSeconds! > 1);
    broker.signal('SIGCONT');
    await instance.caughtUp();
    expect(instance.publisher.status()).toMatchObject({ lagEvents: 0, lagSeconds: 0 });
    expect(instance.changes.filter(publishing)).toHaveLength(1);
    await expectEachOnceInOrder(broker, settings.topic, 300);
  },
);

faultTest(
  'a publisher that was frozen until another took over publishes nothing more',
  async (broker, directory, settings) => {
    const store = openSqlite(directory);
    await using zombie = new PublisherProcess(directory, settings);
    await append(store, ...plants(0, 50));
    await zombie.until(publishing);
    await using successor = new PublisherProcess(directory, settings);
    await successor.until(({ state }) => state === 'standby');

    // Frozen with a transaction under way, which the broker gets to see only once it is woken.
    broker.signal('SIGSTOP');
    await append(store, ...plants(50, 50));
    await sleep(500);
    // It must not have the write lock of the database, which nobody could take from it then.
    using lock = new DatabaseSync(join(directory, DATABASE_FILE), { timeout: 10_000 });
    lock.exec('BEGIN IMMEDIATE');
    await zombie.freeze();
    lock.exec('ROLLBACK');
    broker.signal('SIGCONT');
    await successor.until(publishing);
    await append(store, ...plants(100, 50));
    await reaches(settings, 150);

    const before = zombie.changes.length;
    zombie.signal('SIGCONT');
    await zombie.until(({ state }) => state === 'standby', before);
    await append(store, ...plants(150, 50));
    await reaches(settings, 200);
    expect(zombie.changes.slice(before).filter(publishing)).toEqual([]);
    await expectEachOnceInOrder(broker, settings.topic, 200);
    await store.close();
  },
);

test.skipIf(classPath === undefined)(
  'an event leaves the topic once it is as old as the retention, also while others follow it',
  async () => {
    using directory = dataDirectory();
    const settings = { 'log.retention.check.interval.ms': '500', 'log.initial.task.delay.ms': '500' };
    await using broker = await Kafka.start(classPath!, { settings });
    const topic = { ...kafkaOptions(broker.brokers, 'retained'), partitions: 1, retention: 4 };
    await using instance = await Instance.start(directory.path, topic);
    await instance.append(...plants(0, 1));
    const positions = async (count: number) => {
      await instance.append(...plants(count, 1));
      await instance.caughtUp();
      return positionsOf(await readTopic(broker, 'retained'));
    };
    expect(await positions(1)).toEqual([1, 2]);
    for (let count = 2; (await positions(count))[0] === 1; count++) await sleep(500);
    expect(await positions(1_000)).not.toEqual([]);
  },
  300_000,
);
