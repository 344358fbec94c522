import { expect, test } from 'vitest';
import { EMPTY_HEAD } from '../../src/log/event/event.ts';
import { type KafkaClient, within } from '../../src/publisher/kafka/client.ts';
import { TopicReader } from '../../src/publisher/kafka/reader.ts';
import { fromCommitted, toCommitted } from '../../src/publisher/kafka/topics.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import { added, chain } from '../support/events.ts';

/** Events that this Kafka takes in the time of a transaction, fewer than the publisher sends at once. */
const IN_TIME = 1_500;

test('what is too much for a slow Kafka is published in smaller transactions', async () => {
  const plants = Array.from({ length: 4_000 }, (_, id) => added('alice', BigInt(id)));
  const log = chain(EMPTY_HEAD, plants);
  const published: number[] = [];
  const done = Promise.withResolvers<void>();
  const publisher = new Publisher({
    store: {
      head: async () => log.at(-1)!,
      async *read(after) {
        yield log.slice(after);
      },
      unfinished: async () => [],
      erasurePublished: async () => {},
      lease: async () => true,
    },
    topic: {
      open: async () => ({
        start: { position: published.length, hash: Buffer.from(log[published.length - 1]?.hash ?? []).toString('hex') },
        notice: undefined,
        publish: async (events) => {
          if (events.length > IN_TIME) throw new Error('Kafka did not respond within 30 s');
          published.push(...events.map(({ position }) => position));
          if (published.length >= log.length) done.resolve();
        },
        close: () => {},
      }),
    },
    onChange: () => {},
  });
  await within(20_000, done.promise);
  expect(published).toEqual(log.map(({ position }) => position));
  await publisher.close();
});

test('while the log has nothing new, looks for it make no transaction', async () => {
  let [looks, transactions] = [0, 0];
  const looked = Promise.withResolvers<void>();
  const publisher = new Publisher({
    store: {
      head: async () => EMPTY_HEAD,
      async *read() {
        if (++looks === 5) looked.resolve();
        yield [];
      },
      unfinished: async () => [],
      erasurePublished: async () => {},
      lease: async () => true,
    },
    topic: {
      open: async () => ({
        start: { position: 0, hash: '' },
        notice: undefined,
        publish: async () => void transactions++,
        close: () => {},
      }),
    },
    onChange: () => {},
  });
  await looked.promise;
  expect(transactions).toBe(0);
  await publisher.close();
});

test('a reader whose group may not be joined says why', async () => {
  const refused = new Error('Not authorized to access group');
  const listeners = new Map<string, (event: { payload: { error: Error } }) => void>();
  const consumer = {
    events: { END_BATCH_PROCESS: 'end', CRASH: 'crash' },
    on: (event: string, listener: () => void) => listeners.set(event, listener),
    connect: async () => {},
    subscribe: async () => {},
    run: async () => listeners.get('crash')!({ payload: { error: refused } }),
    seek: () => {
      throw new Error('Consumer group was not initialized, consumer#run must be called first');
    },
  };
  const client = { ranges: async () => [{ low: 0, stable: 1 }], consumer: () => consumer } as unknown as KafkaClient;
  await expect(TopicReader.open(client, 'events', 'group', [0])).rejects.toBe(refused);
});

test.each([
  '',
  'null',
  '{}',
  '{"hash":7,"ends":[1]}',
  '{"hash":"00","ends":7}',
  '{"hash":"00","ends":[]}',
  '{"hash":"00","ends":[1.5]}',
])('a committed offset with the metadata %j is not taken for a checkpoint', (metadata) => {
  expect(() => fromCommitted({ offset: 7, metadata })).toThrow('was not written by the publisher');
});

test('a checkpoint comes back from its committed offset', () => {
  const checkpoint = { position: 7, hash: '00', ends: [3, -1] };
  expect(fromCommitted(toCommitted(checkpoint))).toEqual(checkpoint);
});
