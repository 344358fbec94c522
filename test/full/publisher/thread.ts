import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import type { PublisherStatus } from '../../../src/publisher/status.ts';
import { PublisherThread } from '../../../src/publisher/thread.ts';
import type { PublisherSettings } from '../../../src/start/publisher-thread.ts';
import { HAS_MONGODB, openMongoStore } from '../../store/open-mongo.ts';
import { append } from '../../support/events.ts';
import type { KafkaBench } from '../../support/kafka-bench.ts';
import { positionsOf, readTopic } from '../../support/kafka-records.ts';
import { dataDirectory } from '../../support/publication.ts';
import { eventually, plants, sorted, upTo } from './series.ts';

const PROGRAM = pathToFileURL(join(import.meta.dirname, '../../../src/start/publisher-thread.ts'));

const reaches = (thread: PublisherThread, position: number) =>
  eventually(
    async () => thread.stats().published,
    (published) => published === position,
  );

/** The publisher as the service runs it. */
export function thread(bench: KafkaBench): void {
  test('publishes in a thread of its own, tells how it stands, and goes on where it ended', async () => {
    using directory = dataDirectory();
    const kafka = bench.newTopic();
    const settings: PublisherSettings = { mongodbUri: undefined, dataDirectory: directory.path, kafka };
    const store = openSqlite(directory.path);
    const changes: PublisherStatus[] = [];
    for (const round of [0, 1]) {
      await using publisher = new PublisherThread(PROGRAM, settings, (change) => changes.push(change));
      expect(publisher.stats().state).toBe('starting');
      await append(store, ...plants(round * 100, 100));
      await reaches(publisher, (round + 1) * 100);
      expect(publisher.stats()).toMatchObject({ state: 'publishing', lagEvents: 0, lagSeconds: 0 });
    }
    await store.close();
    expect(changes.map(({ state }) => state)).toEqual(['publishing', 'publishing']);
    expect(sorted(positionsOf(await readTopic(bench.kafka, kafka.topic)))).toEqual(upTo(200));
  });

  test.skipIf(!HAS_MONGODB)('of one instance publishes a log on MongoDB, and that of another goes on', async () => {
    const { uri, store, cleanup } = await openMongoStore();
    const kafka = bench.newTopic();
    const settings: PublisherSettings = { mongodbUri: uri, dataDirectory: '', kafka };
    const threads = [1, 2].map(() => new PublisherThread(PROGRAM, settings, () => {}));
    for (let round = 1; threads.length > 0; round++) {
      await append(store, ...plants((round - 1) * 100, 100));
      const leader = await Promise.race(threads.map((each) => reaches(each, round * 100).then(() => each)));
      await leader[Symbol.asyncDispose]();
      threads.splice(threads.indexOf(leader), 1);
    }
    await cleanup();
    expect(sorted(positionsOf(await readTopic(bench.kafka, kafka.topic)))).toEqual(upTo(200));
  });

  test('whose thread fails is started again and again, and says so once', async () => {
    using directory = dataDirectory();
    const changes: PublisherStatus[] = [];
    await using publisher = new PublisherThread(PROGRAM, { dataDirectory: join(directory.path, '\0') }, (change) =>
      changes.push(change),
    );
    await eventually(
      async () => publisher.stats().state,
      (state) => state === 'degraded',
    );
    // Long enough to be started again and to fail again.
    await sleep(3_000);
    expect(changes).toMatchObject([
      { state: 'degraded', detail: expect.stringMatching(/will be restarted: .*null bytes/) },
    ]);
  });
}
