import type { Topic, TopicSession } from '../topic.ts';
import { KafkaClient, type KafkaConnection, type TransactionalProducer, within } from './client.ts';
import { recover } from './recover.ts';
import { KafkaSession, TRANSACTION_LIMIT } from './session.ts';
import { createTopics, type Names, namesFor, type TopicSettings } from './topics.ts';

/** The name of the topic of events, how to connect to it, and how to create it. */
export interface KafkaOptions extends KafkaConnection, TopicSettings {
  readonly topic: string;
}

/** Most milliseconds to connect and become the only publisher. */
const OPEN_LIMIT = 30_000;

/** A topic on Kafka. */
export class KafkaTopic implements Topic {
  readonly #options: KafkaOptions;
  readonly #names: Names;

  constructor(options: KafkaOptions) {
    this.#options = options;
    this.#names = namesFor(options.topic);
  }

  /** See Topic.open. Creates the topic if it never existed. */
  async open(): Promise<TopicSession> {
    const client = new KafkaClient(this.#options);
    try {
      const producer = await within(OPEN_LIMIT, this.#takeOver(client));
      return new KafkaSession(client, producer, this.#names, await recover(client, this.#names));
    } catch (error) {
      client.close();
      throw error;
    }
  }

  /** When this resolves, no other publisher can publish, and no open transaction can change the checkpoint. */
  async #takeOver(client: KafkaClient): Promise<TransactionalProducer> {
    await client.connect();
    await createTopics(client, this.#names, this.#options);
    return client.producer(this.#names.transactionalId, TRANSACTION_LIMIT);
  }
}
