import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { namesFor } from '../../../src/publisher/kafka/names.ts';
import { project } from '../../support/events.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { plantstore } from '../../support/run.ts';
import { plants } from './series.ts';

/** What `plantstore doctor` says of a topic. */
export function doctor(bench: KafkaBench): void {
  test('says what is published, how many partitions it uses, and that a checkpoint is forgotten', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      const { topic, group } = namesFor(settings.topic);
      const examine = async () => {
        const environment = { DATA_DIR: directory, KAFKA_BROKERS: bench.kafka.brokers.join(), KAFKA_TOPIC: topic };
        const { code, stdout } = await plantstore(['doctor'], environment);
        return { code, kafka: stdout.match(/^\S+ +(kafka|checkpoint) .*$/gm)! };
      };
      expect((await examine()).kafka.join()).toMatch(/^ok +kafka .*(does not exist|3 partitions)/);
      await instance.append(...plants(0, 20));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      const store = openSqlite(directory);
      await project(store);
      await store.close();
      const published = await examine();
      expect(published.kafka).toEqual([
        expect.stringMatching(/^ok +kafka .* 3 partitions/),
        expect.stringMatching(/^ok +checkpoint +every event up to position 20 is published/),
      ]);
      await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] });
      expect((await examine()).kafka[1]).toMatch(/^warn +kafka .*only to its first 3 partitions/);
      await admin.deleteGroups([group]);
      expect((await examine()).kafka[1]).toMatch(/^warn +checkpoint +Kafka has lost it/);
    }));

  test('fails where the topic is gone that events were published to', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      await instance.append(...plants(0, 20));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      await admin.deleteTopics({ topics: [settings.topic] });
      const environment = {
        DATA_DIR: directory,
        KAFKA_BROKERS: bench.kafka.brokers.join(),
        KAFKA_TOPIC: settings.topic,
      };
      const { code, stdout } = await plantstore(['doctor'], environment);
      expect(code).toBe(1);
      expect(stdout).toMatch(/^fail +kafka .* is gone, after 20 events were published/m);
    }));
}
