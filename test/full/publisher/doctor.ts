import { expect, test } from 'vitest';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { plantstore } from '../../support/run.ts';
import { plants } from './series.ts';

/** What `plantstore doctor` says of a topic. */
export function doctor(bench: KafkaBench): void {
  test('says whether the topic exists, and how many partitions it has', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      const { topic } = settings;
      const examine = async () => {
        const environment = { DATA_DIR: directory, KAFKA_BROKERS: bench.kafka.brokers.join(), KAFKA_TOPIC: topic };
        const { stdout } = await plantstore(['doctor'], environment);
        return stdout.match(/^\S+ +kafka .*$/gm)!;
      };
      await instance.append(...plants(0, 20));
      await instance.caughtUp();
      await instance[Symbol.asyncDispose]();
      expect(await examine()).toEqual([expect.stringMatching(/^ok +kafka .* 3 partitions$/)]);
      await admin.deleteTopics({ topics: [topic] });
      expect(await examine()).toEqual([
        expect.stringMatching(/^warn +kafka .* does not exist: the service creates it/),
      ]);
    }));
}
