// The program of the publisher's thread: composes the publisher. publisher/thread.ts is the other side.
import { parentPort, workerData } from 'node:worker_threads';
import type { Config } from '../config.ts';
import { openMongo } from '../log/mongo/store.ts';
import { openSqlite } from '../log/sqlite/store.ts';
import { type KafkaOptions, kafkaTopic } from '../publisher/kafka/kafka-topic.ts';
import { Publisher } from '../publisher/publisher.ts';
import type { PublisherStatus } from '../publisher/status.ts';
import { CLOSE, REPORT_INTERVAL, type StatusMessage } from '../publisher/thread.ts';

/** The settings of the publisher's thread, which gets a copy of them. */
export type PublisherSettings = Pick<Config, 'mongodbUri' | 'dataDirectory'> & { readonly kafka: KafkaOptions };

const { mongodbUri, dataDirectory, kafka } = workerData as PublisherSettings;
const tell = (status: PublisherStatus, changed: boolean) =>
  parentPort!.postMessage({ status, changed } satisfies StatusMessage);

const store = mongodbUri === undefined ? openSqlite(dataDirectory) : await openMongo(mongodbUri);
const publisher = new Publisher({ store, topic: kafkaTopic(kafka), onChange: (status) => tell(status, true) });
const reporting = setInterval(() => tell(publisher.status(), false), REPORT_INTERVAL);

parentPort!.on('message', async (message) => {
  if (message !== CLOSE) return;
  clearInterval(reporting);
  await publisher.close();
  await store.close();
  parentPort!.close();
});
