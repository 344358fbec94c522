import { type Admin, Kafka as KafkaJs, logLevel } from 'kafkajs';
import type { KafkaOptions } from '../../src/publisher/kafka/kafka-topic.ts';
import { Kafka, type KafkaExtras } from './kafka.ts';
import { dataDirectory, Instance, kafkaOptions } from './publication.ts';

/** The environment for tests of publication: a broker, an operator's tools, and independent topics. */
export class KafkaBench implements AsyncDisposable {
  readonly kafka: Kafka;
  #topics = 0;

  private constructor(kafka: Kafka) {
    this.kafka = kafka;
  }

  /** Uses the broker of KAFKA_TEST_BROKERS, or starts one with these extras. */
  static async open(classPath: string, extras?: KafkaExtras): Promise<KafkaBench> {
    return new KafkaBench(await Kafka.given(classPath, extras));
  }

  /** An admin client for one test: it caches topics, and fails for those that are gone. */
  async admin(): Promise<Admin & AsyncDisposable> {
    const admin = new KafkaJs({ brokers: [...this.kafka.brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    return { ...admin, [Symbol.asyncDispose]: () => admin.disconnect() };
  }

  /** Settings with a new topic. */
  newTopic(): KafkaOptions {
    return kafkaOptions(this.kafka.brokers, `topic-${process.pid}-${Date.now()}-${this.#topics++}`);
  }

  /** Runs a test on an empty log, with one instance that publishes to a new topic. */
  async withInstance(
    run: (instance: Instance, settings: KafkaOptions, directory: string) => Promise<void>,
  ): Promise<void> {
    using directory = dataDirectory();
    const settings = this.newTopic();
    await using instance = await Instance.start(directory.path, settings);
    await run(instance, settings, directory.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kafka[Symbol.asyncDispose]();
  }
}
