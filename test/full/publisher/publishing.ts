import { setTimeout as sleep } from 'node:timers/promises';
import { type CloudEvent, Kafka as CloudEvents } from 'cloudevents';
import { expect, test } from 'vitest';
import { EMPTY_HEAD } from '../../../src/log/event/event.ts';
import { KafkaClient } from '../../../src/publisher/kafka/client.ts';
import { kafkaTopic } from '../../../src/publisher/kafka/kafka-topic.ts';
import { createTopics, namesFor, toCommitted } from '../../../src/publisher/kafka/topics.ts';
import { eventMessage } from '../../../src/publisher/message.ts';
import { added, chain, deleted, TRACEPARENT } from '../../support/events.ts';
import { verifyLog } from '../../support/fold.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { eventOf, positionsOf, readTopic } from '../../support/kafka-records.ts';
import { Instance } from '../../support/publication.ts';
import { plants, sorted, upTo } from './series.ts';

/** What the topic holds, and who may publish to it. */
export function publishing(bench: KafkaBench): void {
  const { kafka } = bench;

  test('holds every event once, in order within each partition, as a consumer of another library sees it', () =>
    bench.withInstance(async (instance, { topic }) => {
      for (let batch = 0; batch < 20; batch++) await instance.append(...plants(batch * 150, 150));
      await instance.caughtUp();
      const records = await readTopic(kafka, topic);
      expect(sorted(positionsOf(records))).toEqual(upTo(3_000));
      for (const partition of [0, 1, 2]) {
        const positions = positionsOf(records.filter((record) => record.partition === partition));
        expect(positions.length).toBeGreaterThan(500);
        expect(positions).toEqual(sorted(positions));
      }
    }));

  test('lets a consumer rebuild the log, exact to the last digit, and verify its chain', () =>
    bench.withInstance(async (instance, { topic }) => {
      const owner = 'Ünï/cödé \u0001 "owner"%2F';
      const events = [
        added('alice', 9007199254740993n, 'Fern', 'indoor'),
        added('alice', -9223372036854775808n, '', ''),
        added(owner, 0n, '\u0000\n\u2028🌿'),
        { ...deleted('alice', 9007199254740993n), traceparent: TRACEPARENT },
        { ...deleted(owner, 0n), idempotencyKey: 'ключ "1"' },
      ];
      const appended = await instance.append(...events);
      await instance.caughtUp();
      const records = await readTopic(kafka, topic);
      const rebuilt = records.map(eventOf).toSorted((a, b) => a.position - b.position);
      verifyLog(rebuilt);
      expect(rebuilt).toEqual(appended.map((event) => ({ ...event, hash: Buffer.from(event.hash) })));
      // All events of a plant have one key.
      expect(new Set(records.map(({ key }) => key)).size).toBe(3);
    }));

  test('holds CloudEvents that the SDK of their specification reads', () =>
    bench.withInstance(async (instance, { topic }) => {
      const [appended] = await instance.append({ ...added('alice', 7n, 'Fern', 'indoor'), traceparent: TRACEPARENT });
      await instance.caughtUp();
      const [record] = await readTopic(kafka, topic);
      const { key, value, headers } = record!;
      const message = { key, value, headers, body: value, timestamp: '' };
      const event = CloudEvents.toEvent(message) as CloudEvent<unknown>;
      expect(event.validate()).toBe(true);
      expect(event).toMatchObject({
        specversion: '1.0',
        id: appended!.eventId,
        source: '/plantstore',
        type: 'plantstore.v1.PlantAdded',
        subject: 'alice/7',
        time: new Date(appended!.time).toISOString(),
        datacontenttype: 'application/json',
        traceparent: TRACEPARENT,
        data: { owner: 'alice', actor: 'who acts for alice', plantId: 7, name: 'Fern', tag: 'indoor' },
      });
      expect(key).toBe('alice/7');
    }));

  test('has each key in the partition that a Java client would choose', () =>
    bench.withInstance(async (instance, { topic }) => {
      await instance.append(...Array.from({ length: 40 }, (_, id) => added(`Öwner ${id % 3}`, BigInt(id))));
      await instance.caughtUp();
      const records = await readTopic(kafka, topic);
      const copy = `${topic}.java`;
      await using admin = await bench.admin();
      await admin.createTopics({ topics: [{ topic: copy, numPartitions: 3 }], waitForLeaders: false });
      const producer = kafka.spawn(
        'org.apache.kafka.tools.ConsoleProducer',
        ...['--bootstrap-server', kafka.brokers.join(), '--topic', copy],
        ...['--property', 'parse.key=true', '--property', 'key.separator=|'],
      );
      producer.stdin!.end(records.map(({ key }) => `${key}|\n`).join(''));
      await new Promise((resolve) => producer.once('close', resolve));
      const chosen = new Map((await readTopic(kafka, copy)).map(({ key, partition }) => [key, partition]));
      expect(new Map(records.map(({ key, partition }) => [key, partition]))).toEqual(chosen);
    }));

  test('takes events of any size, in batches of any size', () =>
    bench.withInstance(async (instance, { topic }) => {
      // Escaped in JSON, a control character takes six bytes.
      const huge = '\u0001'.repeat(1_024);
      await instance.append(...plants(0, 600).map((plant) => ({ ...plant, name: huge, tag: huge })));
      await instance.caughtUp();
      const records = await readTopic(kafka, topic);
      expect(sorted(positionsOf(records))).toEqual(upTo(600));
      expect(Buffer.byteLength(records[0]!.value)).toBeGreaterThan(12_000);
    }));

  test('takes nothing more from a publisher that another has replaced, whatever it believes', async () => {
    const settings = bench.newTopic();
    const events = chain(EMPTY_HEAD, plants(0, 30));
    const first = await kafkaTopic(settings).open();
    await first.publish(events.slice(0, 10));
    const second = await kafkaTopic(settings).open();
    expect(second.start.position).toBe(10);
    await expect(first.publish(events.slice(10, 20))).rejects.toThrow(/epoch|fenced/i);
    await second.publish(events.slice(10, 30));
    await expect(first.publish(events.slice(10, 20))).rejects.toThrow();
    for (const session of [first, second]) session.close();
    expect(sorted(positionsOf(await readTopic(kafka, settings.topic)))).toEqual(upTo(30));
  });

  test('is waited for where it appears later than the client library waits', async () => {
    const settings = bench.newTopic();
    const client = new KafkaClient(settings);
    await client.connect();
    await using admin = await bench.admin();
    const ranges = client.ranges(settings.topic);
    // The library gives up after 1.6 s.
    await sleep(3_000);
    await admin.createTopics({ topics: [{ topic: settings.topic, numPartitions: 2 }], waitForLeaders: false });
    expect(await ranges).toEqual([
      { low: 0, stable: 0 },
      { low: 0, stable: 0 },
    ]);
    client.close();
  });

  test('takes events of an instance whose clock is ahead', async () => {
    const settings = bench.newTopic();
    const names = namesFor(settings.topic);
    const client = new KafkaClient(settings);
    await client.connect();
    await createTopics(client, names, settings);
    const [event] = chain(EMPTY_HEAD, plants(0, 1));
    // What the client library adds, by the clock of the process.
    const message = { ...eventMessage(event!)!, timestamp: String(Date.now() + 7_200_000) };
    const producer = await client.producer(names.transactionalId, 60_000);
    await producer.send(settings.topic, 0, [message]);
    await producer.commit(names.group, names.checkpoint, toCommitted({ position: 1, hash: '', ends: [0, -1, -1] }));
    client.close();
    expect(positionsOf(await readTopic(kafka, settings.topic))).toEqual([1]);
  });

  test('shows nothing of a transaction that was never ended, and its events are published anew', () =>
    bench.withInstance(async (instance, settings, directory) => {
      const events = await instance.append(...plants(0, 20));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      const dying = new KafkaClient(settings);
      await dying.connect();
      // Kafka would end its transaction long after a test has given up.
      const producer = await dying.producer(`${settings.topic}.publisher`, 600_000);
      await producer.send(settings.topic, 1, [{ key: 'a', value: '{}', headers: { 'plantstore-position': '21' } }]);
      dying.close();
      await using successor = await Instance.start(directory, settings);
      await successor.append(...plants(events.length, 20));
      await successor.caughtUp();
      expect(successor.publisher.status().detail).toBeUndefined();
      expect(sorted(positionsOf(await readTopic(kafka, settings.topic)))).toEqual(upTo(40));
    }));
}
