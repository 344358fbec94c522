import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { headAt, seal, subjectOf } from '../../../src/log/event/chain.ts';
import { openLog } from '../../../src/log/log.ts';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { added } from '../../support/events.ts';
import { override } from '../../support/faulty-store.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { readTopic } from '../../support/kafka-records.ts';
import { Instance } from '../../support/publication.ts';
import { answerOf } from './topic-check.ts';

/** What consumers learn of an erasure. */
export function erasure(bench: KafkaBench): void {
  test('an erasure is published, naming the owner, and is over only then; the topic’s audit agrees', ({ expect }) =>
    bench.withInstance(async (instance, settings, directory) => {
      await instance.append(added('alice', 1n), added('bob', 1n), added('alice', 2n));
      await instance.caughtUp();
      const log = await openLog(openSqlite(directory), { onFault: () => {}, publishes: true });
      log.finishErasures((fault) => expect.unreachable(String(fault)));
      for await (const _ of log.erase({ owner: 'alice', actor: 'operator' }));
      const store = openSqlite(directory, { readOnly: true });
      await expect.poll(() => store.unfinished(), { timeout: 30_000 }).toEqual([]);
      await instance.caughtUp();
      const records = await readTopic(bench.kafka, settings.topic);
      const last = records.find(({ headers }) => headers.ce_type === 'plantstore.v1.OwnerErased');
      expect(last).toMatchObject({ key: 'alice', headers: { 'plantstore-position': '4', ce_subject: 'alice' } });
      expect(JSON.parse(last!.value)).toEqual({ owner: 'alice', actor: 'operator', erased: 2 });
      // A consumer of one partition meets it there.
      const partitions = records
        .filter(({ headers }) => headers['plantstore-position'] === '4')
        .map(({ partition }) => partition);
      expect(new Set(partitions).size).toBe(partitions.length);
      expect(partitions.length).toBeGreaterThan(1);
      expect(await answerOf(directory, settings)).toBeUndefined();
      await log.close();
      await store.close();
    }));

  test('what was erased before it could be published is passed over', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await instance.publisher.close();
      await instance.append(added('alice', 1n), added('bob', 1n));
      const log = await openLog(openSqlite(directory), { onFault: () => {}, publishes: true });
      for await (const _ of log.erase({ owner: 'alice', actor: 'operator' }));
      await log.close();
      await using next = await Instance.start(directory, settings);
      await next.caughtUp();
      const records = await readTopic(bench.kafka, settings.topic);
      // OwnerErased is in every partition.
      expect(new Set(records.map(({ key }) => key))).toEqual(new Set(['alice', 'bob/1']));
      expect(await answerOf(directory, settings)).toBeUndefined();
    }));

  test('a topic whose last events have no message is taken up again', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await instance.publisher.close();
      await instance.append(added('bob', 1n), added('alice', 1n));
      const store = openSqlite(directory);
      // As of a log that nobody has published yet.
      const log = await openLog(override(store, { wasLeased: async () => false }), { onFault: () => {} });
      for await (const _ of log.erase({ owner: 'alice', actor: 'operator' }));
      await log.close();
      await using first = await Instance.start(directory, settings);
      await first.caughtUp();
      await first[Symbol.asyncDispose]();
      await using next = await Instance.start(directory, settings);
      await next.append(added('bob', 2n));
      await next.caughtUp();
      expect(next.changes.map(({ detail }) => detail)).toEqual([undefined]);
      const records = await readTopic(bench.kafka, settings.topic);
      expect(records.map(({ key }) => key)).toEqual(['bob/1', 'bob/2']);
    }));

  test('the topic’s audit misses nothing of an owner whose erasure had begun before it was published', () =>
    bench.withInstance(async (instance, settings, directory) => {
      await instance.publisher.close();
      const [, before] = await instance.append(added('alice', 1n), added('bob', 1n));
      const erases = { owner: 'alice', key: new Uint8Array(16), isCleared: false, isPublished: false };
      const event = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
      const store = openSqlite(directory);
      await store.append([{ ...seal(headAt(before!), event, randomUUID(), before!.time), erases }]);
      await store.close();
      await using next = await Instance.start(directory, settings);
      await next.caughtUp();
      expect(await answerOf(directory, settings)).toBeUndefined();
    }));
}
