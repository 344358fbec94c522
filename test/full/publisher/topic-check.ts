import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Answer, verifyLog } from '../../../src/audit/verify.ts';
import { headAt, seal, subjectOf } from '../../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../../src/log/event/event.ts';
import { openLog } from '../../../src/log/log.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { eventAt } from '../../../src/log/whole-range.ts';
import { KafkaClient, partitioner } from '../../../src/publisher/kafka/client.ts';
import type { KafkaOptions } from '../../../src/publisher/kafka/kafka-topic.ts';
import { askTopic } from '../../../src/publisher/kafka/topic-check.ts';
import { createTopics, namesFor, toCommitted } from '../../../src/publisher/kafka/topics.ts';
import {
  type EventMessage,
  eventMessage,
  IDEMPOTENCY_KEY_HEADER,
  POSITION_HEADER,
} from '../../../src/publisher/message.ts';
import { added, append, chain } from '../../support/events.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { dataDirectory } from '../../support/publication.ts';
import { eventually, plants } from './series.ts';

type Partitions = [EventMessage[], EventMessage[], EventMessage[]];

/** What `audit verify` answers to the question of the topic. */
export async function answerOf(directory: string, settings: KafkaOptions): Promise<Answer['failure']> {
  const store = openSqlite(directory, { readOnly: true });
  try {
    for await (const step of verifyLog(store, { checks: async () => [await askTopic(settings, store)] }))
      if ('answers' in step) return step.answers.find(({ question }) => question === 'topic')!.failure;
    throw new Error('no verdict');
  } finally {
    await store.close();
  }
}

/** Writes a topic by hand: these records, and a checkpoint at a position. */
async function write(settings: KafkaOptions, partitions: Partitions, position: number): Promise<void> {
  const names = namesFor(settings.topic);
  const client = new KafkaClient(settings);
  await client.connect();
  await createTopics(client, names, settings);
  const producer = await client.producer(names.transactionalId, 60_000);
  for (const [partition, messages] of partitions.entries())
    if (messages.length > 0) await producer.send(names.topic, partition, messages);
  const ends = partitions.map(({ length }) => length - 1);
  await producer.commit(names.group, names.checkpoint, toCommitted({ position, hash: '', ends }));
  // A commit is known a moment after it was made.
  await eventually(
    () => client.committed(names.group, names.checkpoint),
    (committed) => committed !== undefined,
  );
  client.close();
}

function spread(events: readonly LoggedEvent[]): Partitions {
  const partitions: Partitions = [[], [], []];
  const partitionOf = partitioner(3);
  for (const message of events.map((event) => eventMessage(event)!))
    partitions[partitionOf(message.key)]!.push(message);
  return partitions;
}

/** The message with another value of a header, or without the header. */
function withHeader(message: EventMessage, name: string, value: string | undefined): EventMessage {
  const { [name]: _, ...headers } = message.headers;
  return { ...message, headers: value === undefined ? headers : { ...headers, [name]: value } };
}

/** An event that the log never had, at the position of another. */
const forged = ({ headers }: EventMessage): EventMessage => ({
  key: 'bob/99',
  value: '{"owner":"bob","actor":"bob","plantId":99,"name":"Fern"}',
  headers: { ce_type: headers.ce_type!, [POSITION_HEADER]: headers[POSITION_HEADER]! },
});

/** The audit of the topic. */
export function topicCheck(bench: KafkaBench): void {
  test('says yes of what the publisher publishes, while it does', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await instance.append(...plants(0, 500));
      await instance.caughtUp();
      expect(await answerOf(directory, settings)).toBeUndefined();
      const appending = (async () => {
        for (let batch = 1; batch <= 40; batch++) await instance.append(...plants(batch * 500, 50));
      })();
      for (let looks = 0; looks < 3; looks++) expect(await answerOf(directory, settings)).toBeUndefined();
      await appending;
      await instance.caughtUp();
      expect(await answerOf(directory, settings)).toBeUndefined();
    }));

  const events = 90;
  const cases: [string, (partitions: Partitions) => void, RegExp][] = [
    ['an event that is missing', (all) => void all[1].splice(5, 1), /should be this event/],
    ['the last event of a partition that is missing', (all) => void all[1].pop(), /missing in partition 1/],
    ['an event that is there twice', (all) => void all[1].splice(5, 0, all[1][4]!), /should be this event/],
    [
      'two events in the wrong order',
      (all) => void all[1].splice(4, 2, all[1][5]!, all[1][4]!),
      /should be this event/,
    ],
    ['another value', (all) => void all[1].splice(5, 1, { ...all[1][5]!, value: '{}' }), /differs from/],
    ['another key', (all) => void all[1].splice(5, 1, { ...all[1][5]!, key: 'bob/7' }), /differs from/],
    [
      'another idempotency key',
      (all) => void all[1].splice(5, 1, withHeader(all[1][5]!, IDEMPOTENCY_KEY_HEADER, 'other')),
      /differs from/,
    ],
    [
      'an idempotency key left out',
      (all) => void all[1].splice(5, 1, withHeader(all[1][5]!, IDEMPOTENCY_KEY_HEADER, undefined)),
      /differs from/,
    ],
    ['an event in another partition', (all) => void all[0].push(...all[1].splice(5, 1)), /should be this event/],
    [
      'a forged record whose position is beyond the head',
      (all) => void all[1].push(withHeader(all[1].at(-1)!, POSITION_HEADER, '91')),
      /does not match any event of the log/,
    ],
    [
      'a forged record whose position is beyond every head',
      (all) => void all[2].push(withHeader(all[2].at(-1)!, POSITION_HEADER, `${2 ** 53}`)),
      /does not match any event of the log/,
    ],
    [
      'a record of somebody else',
      (all) => void all[1].push({ key: '', value: 'hello', headers: {} }),
      /does not match any event/,
    ],
  ];
  test.each(cases)('finds %s', async (_, spoil, why) => {
    using directory = dataDirectory();
    const settings = bench.newTopic();
    const store = openSqlite(directory.path);
    const keyed = plants(0, events).map((event, index) => ({ ...event, idempotencyKey: `key ${index}` }));
    const partitions = spread(await append(store, ...keyed));
    await store.close();
    spoil(partitions);
    await write(settings, partitions, events);
    expect((await answerOf(directory.path, settings))?.message).toMatch(why);
  });

  /** A log of alice's plants at 1 to 9 and one of bob's at 10; 11 erases alice. With the topic that has it all. */
  async function erasedLog(directory: string): Promise<Partitions> {
    const store = openSqlite(directory);
    const partitions = spread(await append(store, ...plants(1, 9), added('bob', 1n)));
    const log = await openLog(store, { onFault: () => {} });
    for await (const _ of log.erase({ owner: 'alice', actor: 'operator' }));
    const erases = { owner: 'alice', key: new Uint8Array(16), isCleared: true, isPublished: true };
    const message = eventMessage({ ...(await eventAt(store, 11))!, erases })!;
    for (const messages of partitions) messages.push(message);
    await log.close();
    return partitions;
  }

  const ofErased: [string, (partitions: Partitions) => void, RegExp | undefined][] = [
    ['nothing wrong', () => {}, undefined],
    [
      'nothing wrong without erased events',
      (all) =>
        all.forEach((some, at) => {
          all[at] = some.filter(({ key }) => !key.startsWith('alice/'));
        }),
      undefined,
    ],
    [
      'nothing wrong where the erasure was complete before',
      (all) =>
        all.forEach((some, at) => {
          all[at] = some.filter(({ key }) => key.startsWith('bob'));
        }),
      undefined,
    ],
    [
      'an OwnerErased in one partition only',
      (all) => {
        all[1].pop();
        all[2].pop();
      },
      /missing in partition 1/,
    ],
    [
      'an OwnerErased that names somebody else in a partition',
      (all) => all[2].push({ ...all[2].pop()!, key: 'bob' }),
      /partition 2 differs from/,
    ],
    [
      'a forged record at the position of an erased event',
      (all) => all[0].splice(0, 1, forged(all[0][0]!)),
      /partition 0 differs from/,
    ],
    [
      'another value at the position of an erased event',
      (all) => all[0].splice(0, 1, { ...all[0][0]!, value: '{}' }),
      /partition 0 differs from/,
    ],
    ['an erased event in two partitions', (all) => all[1].unshift(all[0][0]!), /partition 1 differs from/],
  ];
  test.each(ofErased)('finds in a topic of an erased owner %s', async (_, spoil, why) => {
    using directory = dataDirectory();
    const settings = bench.newTopic();
    const partitions = await erasedLog(directory.path);
    spoil(partitions);
    await write(settings, partitions, 11);
    const message = (await answerOf(directory.path, settings))?.message;
    if (why === undefined) expect(message).toBeUndefined();
    else expect(message).toMatch(why);
  });

  test('finds that an OwnerErased names somebody else, while the log knows whom', async () => {
    using directory = dataDirectory();
    const settings = bench.newTopic();
    const store = openSqlite(directory.path);
    const [plant] = await append(store, added('alice', 1n));
    const erases = { owner: 'alice', key: new Uint8Array(16), isCleared: false, isPublished: true };
    const event = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
    const erasure = seal(headAt(plant!), event, randomUUID(), plant!.time);
    await store.append([{ ...erasure, erases }]);
    await store.close();
    const partitions = spread([plant!]);
    const message = eventMessage({ ...erasure, erases: { ...erases, owner: 'bob' } })!;
    for (const messages of partitions) messages.push(message);
    await write(settings, partitions, 2);
    expect(await answerOf(directory.path, settings)).toMatchObject({
      position: 2,
      message: expect.stringContaining('of partition 0 differs from'),
    });
  });

  test('finds a forged record beyond the head while a publisher goes on', () =>
    bench.withInstance(async (instance, settings, directory) => {
      const { topic } = settings;
      await instance.append(...plants(0, 100));
      await instance.caughtUp();
      const [forged] = spread(chain({ ...EMPTY_HEAD, position: 1_000_000 }, plants(0, 9)));
      const client = new KafkaClient(settings);
      await client.connect();
      const forger = await client.producer(`${topic}.forger`, 60_000);
      const offset = await forger.send(topic, 0, forged.slice(0, 1));
      await forger.commit(`${topic}.forger`, namesFor(topic).checkpoint, { offset: 1, metadata: '' });
      // A commit is known a moment before its records are visible.
      await eventually(
        () => client.ranges(topic),
        (ranges) => ranges !== undefined && ranges[0]!.stable > offset,
      );
      client.close();
      const partitionOf = partitioner(3);
      let running = true;
      const appending = (async () => {
        for (let batch = 1; running; batch++) {
          // None of them in the forged record's partition: it stays the last there.
          const others = plants(batch * 500, 90).filter((event) => partitionOf(`alice/${event.plantId}`) !== 0);
          await instance.append(...others);
          await sleep(50);
        }
      })();
      try {
        expect((await answerOf(directory, settings))?.message).toMatch(
          /partition 0 of the topic does not match any event of the log/,
        );
      } finally {
        running = false;
        await appending;
      }
    }));

  test('finds a topic that reaches beyond the log', async () => {
    using directory = dataDirectory();
    const settings = bench.newTopic();
    const store = openSqlite(directory.path);
    const [first] = await append(store, ...plants(0, 1));
    await store.close();
    await write(settings, spread([first!, ...chain({ ...EMPTY_HEAD, position: 1 }, plants(1, 9))]), 10);
    expect((await answerOf(directory.path, settings))?.message).toMatch(/reaches position 10, but the log ends at 1/);
  });

  test('asks for nothing that retention has removed', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await using admin = await bench.admin();
      const { topic } = settings;
      await instance.append(...plants(0, 200));
      await instance.caughtUp();
      await eventually(
        () => admin.fetchTopicOffsets(topic),
        (partitions) => partitions?.every(({ high }) => Number(high) > 0) === true,
      );
      // -1: all records.
      const partitions = ['0', '10', '-1'].map((offset, partition) => ({ partition, offset }));
      await admin.deleteTopicRecords({ topic, partitions });
      expect(await answerOf(directory, settings)).toBeUndefined();
    }));

  test('says no of a topic that is not there or cannot be asked, and answers what is asked of the log', async () => {
    using directory = dataDirectory();
    const settings = bench.newTopic();
    const store = openSqlite(directory.path);
    await append(store, ...plants(0, 3));
    await store.close();
    expect((await answerOf(directory.path, settings))?.message).toMatch(/^Kafka has no topic/);
    const nobody = { ...settings, brokers: ['127.0.0.1:1'] };
    expect((await answerOf(directory.path, nobody))?.message).toMatch(
      /^not asked: reading the topic failed: .*ECONNREFUSED/,
    );
  });
}
