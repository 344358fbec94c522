import { expect, test } from 'vitest';
import { EMPTY_HEAD } from '../../../src/log/event/event.ts';
import { KafkaClient } from '../../../src/publisher/kafka/client.ts';
import { kafkaTopic } from '../../../src/publisher/kafka/kafka-topic.ts';
import { namesFor } from '../../../src/publisher/kafka/topics.ts';
import { chain, deleted } from '../../support/events.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { positionsOf, readTopic } from '../../support/kafka-records.ts';
import { dataDirectory, Instance } from '../../support/publication.ts';
import { eventually, plants, sorted, upTo } from './series.ts';
import { answerOf } from './topic-check.ts';

/** What the publisher does when topic, checkpoint and log do not fit together: it says so, and publishes nothing. */
export function mismatches(bench: KafkaBench): void {
  const { kafka } = bench;

  const degraded = (instance: Instance, why: RegExp) =>
    instance.until(({ state, detail }) => state === 'degraded' && why.test(detail ?? ''));

  /** Deletes a topic and makes one of the same name; resolves when the first is gone. */
  const makeAnew = async (topic: string) => {
    await using admin = await bench.admin();
    await admin.deleteTopics({ topics: [topic] });
    await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false });
    await eventually(
      () => admin.fetchTopicOffsets(topic),
      (partitions) => partitions?.every(({ high }) => high === '0') === true,
    );
  };

  /** What an operator does to make the publisher take the topic as it is. */
  const forgetCheckpoint = (topic: string) =>
    kafka.run(
      'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
      ...['--bootstrap-server', kafka.brokers.join(), '--delete', '--group', `${topic}.publisher`],
    );

  test('a topic that was deleted is not created again, until its checkpoint is forgotten', () =>
    bench.withInstance(async (instance, { topic }) => {
      await using admin = await bench.admin();
      await instance.append(...plants(0, 10));
      await instance.caughtUp();
      await admin.deleteTopics({ topics: [topic] });
      await eventually(
        () => readTopic(kafka, topic),
        (records) => records === undefined,
      );
      await instance.append(...plants(10, 10));
      await degraded(instance, /is gone, after 10 events were published/);
      expect(await admin.listTopics()).not.toContain(topic);

      await forgetCheckpoint(topic);
      await instance.caughtUp();
      expect(sorted(positionsOf(await readTopic(kafka, topic)))).toEqual(upTo(20));
    }));

  test('a topic that was deleted and made anew stays empty', () =>
    bench.withInstance(async (instance, { topic }) => {
      await instance.append(...plants(0, 10));
      await instance.caughtUp();
      await makeAnew(topic);
      await instance.append(...plants(10, 10));
      await degraded(instance, /has lost published events, up to position 10/);
      expect(await readTopic(kafka, topic)).toEqual([]);
    }));

  test.each([
    ['no event', 0],
    ['many', 300],
  ])('a topic that is deleted and made anew under a session is found out by a batch of %s', async (_, size) => {
    const settings = bench.newTopic();
    const { topic } = settings;
    const events = chain(EMPTY_HEAD, plants(0, 300 + size));
    const session = await kafkaTopic(settings).open();
    await session.publish(events.slice(0, 300));
    await makeAnew(topic);
    await expect(session.publish(events.slice(300))).rejects.toThrow(/deleted and created again/);
    session.close();
    await expect(kafkaTopic(settings).open()).rejects.toThrow(/has lost published events/);
    expect(await readTopic(kafka, topic)).toEqual([]);
  });

  test('a checkpoint that was set back repeats nothing; once it is forgotten, the topic tells where to go on', () =>
    bench.withInstance(async (instance, settings, directory) => {
      const { topic } = settings;
      const names = namesFor(topic);
      const client = new KafkaClient(settings);
      await client.connect();
      await instance.append(...plants(0, 30));
      await instance.caughtUp();
      const earlier = await client.committed(names.group, names.checkpoint);
      await instance.append(...plants(30, 30));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      const producer = await client.producer(names.transactionalId, 60_000);
      await producer.commit(names.group, names.checkpoint, earlier!);
      client.close();

      await using later = await Instance.start(directory, settings);
      await later.append(...plants(60, 30));
      await degraded(later, /has position \d+, but the checkpoint is at 30/);
      await forgetCheckpoint(topic);
      await later.caughtUp();
      expect(later.publisher.status().detail).toMatch(/no checkpoint; publication resumed after position 60/);
      expect(sorted(positionsOf(await readTopic(kafka, topic)))).toEqual(upTo(90));
    }));

  test('a checkpoint that somebody else wrote is not believed', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      const { group, checkpoint } = namesFor(settings.topic);
      await instance.append(...plants(0, 30));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      await admin.setOffsets({ groupId: group, topic: checkpoint, partitions: [{ partition: 0, offset: '7' }] });
      await using later = await Instance.start(directory, settings);
      await degraded(later, /the committed offset 7 was not written by the publisher/);
      expect(sorted(positionsOf(await readTopic(kafka, settings.topic)))).toEqual(upTo(30));
    }));

  test('somebody else who writes to the topic is found out', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await instance.append(...plants(0, 10));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      const producer = kafka.spawn(
        'org.apache.kafka.tools.ConsoleProducer',
        ...['--bootstrap-server', kafka.brokers.join(), '--topic', settings.topic],
      );
      producer.stdin!.end('hello\n');
      await new Promise((resolve) => producer.once('close', resolve));
      await using later = await Instance.start(directory, settings);
      await degraded(later, /has a record, at offset \d+, that is not an event of a plant store/);
    }));

  test('the topic of another log is left alone', () =>
    bench.withInstance(async (instance, settings) => {
      await instance.append(...plants(0, 10));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      using directory = dataDirectory();
      await using other = await Instance.start(directory.path, settings);
      await degraded(other, /ends at position 10, beyond the end of the log/);
      await other.append(...plants(0, 20));
      await degraded(other, /the event at position 10 on the topic differs from that in the log/);
      expect(sorted(positionsOf(await readTopic(kafka, settings.topic)))).toEqual(upTo(10));
    }));

  test('a topic that gets more partitions keeps a plant where it was, and this is said', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      const { topic } = settings;
      await instance.append(...plants(0, 30));
      await instance.caughtUp();
      await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] });
      await instance[Symbol.asyncDispose]();
      await using later = await Instance.start(directory, settings);
      await later.append(...plants(30, 30));
      await later.caughtUp();
      expect(later.publisher.status().detail).toMatch(/has 5 partitions, but events go only to its first 3/);
      const records = await readTopic(kafka, topic);
      expect(sorted(positionsOf(records))).toEqual(upTo(60));
      expect(new Set(records.map(({ partition }) => partition))).toEqual(new Set([0, 1, 2]));
    }));

  test('a topic that gets more partitions and loses its checkpoint keeps a plant where it was, and is found right', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      const { topic } = settings;
      await instance.append(...plants(0, 30));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] });
      await admin.deleteGroups([namesFor(topic).group]);
      expect(await answerOf(directory, settings)).toBeUndefined();
      await using later = await Instance.start(directory, settings);
      await later.append(...Array.from({ length: 30 }, (_, id) => deleted('alice', BigInt(id))));
      await later.caughtUp();
      expect(later.publisher.status().detail).toMatch(/after position 30, .* has 5 partitions, but .* its first 3/);
      const records = await readTopic(kafka, topic);
      expect(sorted(positionsOf(records))).toEqual(upTo(60));
      const places = new Set(records.map(({ key, partition }) => `${key} in ${partition}`));
      expect(places.size).toBe(30);
      expect(await answerOf(directory, settings)).toBeUndefined();
    }));

  test('without a checkpoint, a topic whose last event retention may have removed is left alone', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      const { topic } = settings;
      await instance.append(...plants(0, 30));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      const records = await readTopic(kafka, topic);
      const { partition } = records.find((record) => positionsOf([record])[0] === 30)!;
      const ranges = await admin.fetchTopicOffsets(topic);
      const { high } = ranges.find((range) => range.partition === partition)!;
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: high }] });
      await admin.deleteGroups([namesFor(topic).group]);
      await using later = await Instance.start(directory, settings);
      await degraded(later, new RegExp(`has lost all records of partition ${partition}, and there is no checkpoint`));
      const left = records.filter((record) => record.partition !== partition);
      expect(sorted(positionsOf(await readTopic(kafka, topic)))).toEqual(sorted(positionsOf(left)));
    }));

  test('a topic that cannot be created is said to be missing, and why', async () => {
    using directory = dataDirectory();
    const settings = { ...bench.newTopic(), replication: 3 };
    await using instance = await Instance.start(directory.path, settings);
    await degraded(instance, /does not exist, and creating it failed: Replication-factor is invalid/);
  });

  test('what retention has removed is not missed', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      const { topic } = settings;
      await instance.append(...plants(0, 30));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      // Records can be deleted once their transaction is marked as committed, a moment after it is.
      await eventually(
        () => admin.fetchTopicOffsets(topic),
        (partitions) => partitions?.every(({ high }) => Number(high) > 0) === true,
      );
      const partitions = await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({
        topic,
        partitions: partitions.map(({ partition, high }) => ({ partition, offset: high })),
      });
      await using later = await Instance.start(directory, settings);
      await later.append(...plants(30, 30));
      await later.caughtUp();
      expect(sorted(positionsOf(await readTopic(kafka, topic)))).toEqual(upTo(60).slice(30));
    }));
}
