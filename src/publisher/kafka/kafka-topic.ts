import type { Topic } from '../topic.ts';
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

/** A topic on Kafka. To open it creates it if it never existed. */
export function kafkaTopic(options: KafkaOptions): Topic {
  const names = namesFor(options.topic);
  return {
    async open() {
      const client = new KafkaClient(options);
      try {
        const producer = await within(OPEN_LIMIT, takeOver(client, names, options));
        return new KafkaSession(client, producer, names, await recover(client, names));
      } catch (error) {
        client.close();
        throw error;
      }
    },
  };
}

/** When this resolves, no other publisher can publish, and no open transaction can change the checkpoint. */
async function takeOver(client: KafkaClient, names: Names, options: KafkaOptions): Promise<TransactionalProducer> {
  await client.connect();
  await createTopics(client, names, options);
  return client.producer(names.transactionalId, TRANSACTION_LIMIT);
}
