import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { Finisher } from '../../src/log/erasure/finisher.ts';
import { headAt, seal, subjectOf } from '../../src/log/event/chain.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import type { Store } from '../../src/log/store.ts';
import { eventAt } from '../../src/log/whole-range.ts';
import { eventMessage } from '../../src/publisher/message.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import type { Published, Topic } from '../../src/publisher/topic.ts';
import { publicationReadiness } from '../../src/start/publication.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { dataDirectory } from '../support/publication.ts';

/** Alice adds a plant, bob one, and alice is erased; an earlier topic has it all. Then alice adds one again. */
async function openErased(path: string): Promise<Store> {
  const store = openSqlite(path);
  const [, before] = await append(store, added('alice', 1n), added('bob', 1n));
  const erases = { owner: 'alice', key: new Uint8Array(16), isCleared: false, isPublished: false };
  const event = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
  const erasure = { ...seal(headAt(before!), event, randomUUID(), before!.time), erases };
  await store.append([erasure]);
  await store.erasurePublished(erasure.position, true);
  await append(store, added('alice', 2n));
  return store;
}

/** A topic that ends at a position. `onPublish` is awaited before it takes events, whose keys it adds. */
function topicAt(start: Published, onPublish: () => Promise<void>): Topic & { readonly keys: (string | undefined)[] } {
  const keys: (string | undefined)[] = [];
  const publish = async (events: readonly LoggedEvent[]) => {
    await onPublish();
    keys.push(...events.map((each) => eventMessage(each)?.key));
  };
  return { keys, open: async () => ({ start, notice: undefined, publish, close: () => {} }) };
}

test('a topic that was created during an erasure, which the former one was told of, gets nothing of the owner from before', async () => {
  using directory = dataDirectory();
  const store = await openErased(directory.path);
  const topic = topicAt({ position: 0, hash: '' }, async () => {});
  const publisher = new Publisher({ store, topic, onChange: () => {} });
  await expect.poll(() => topic.keys.length).toBe(4);
  expect(topic.keys).toEqual([undefined, 'bob/1', 'alice', 'alice/2']);
  await publisher.close();
  await store.close();
});

test('an erasure whose event a restored topic has lost waits until it is there again', async () => {
  using directory = dataDirectory();
  const store = await openErased(directory.path);
  const second = await eventAt(store, 2);
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const topic = topicAt({ position: 2, hash: Buffer.from(second!.hash).toString('hex') }, async () => {
    asked.resolve();
    await gate.promise;
  });
  const publisher = new Publisher({ store, topic, onChange: () => {} });
  await asked.promise;
  // An instance looked before, and ends it now.
  await store.endErasures([3], true);
  gate.resolve();
  await expect.poll(() => topic.keys).toEqual(['alice', 'alice/2']);
  await expect.poll(async () => (await store.unfinished())[0]?.erases.isPublished).toBe(true);
  await publisher.close();
  await store.close();
});

test('an erasure that a former publisher notes late, for a topic that is gone, is published all the same', async () => {
  using directory = dataDirectory();
  const store = await openErased(directory.path);
  const topic = topicAt({ position: 0, hash: '' }, async () => {});
  const late = override(store, {
    erasurePublished: async (position, isPublished) => {
      await store.erasurePublished(position, isPublished);
      if (isPublished) return;
      // One that was frozen between its publication and its note wakes, and an instance completes the erasure.
      await store.erasurePublished(position, true);
      await store.endErasures([position], true);
    },
  });
  const publisher = new Publisher({ store: late, topic, onChange: () => {} });
  await expect.poll(() => topic.keys).toEqual([undefined, 'bob/1', 'alice', 'alice/2']);
  await publisher.close();
  await store.close();
});

test('of an owner whose erasure begins while events are published, nothing more from before is published', async () => {
  using directory = dataDirectory();
  const store = openSqlite(directory.path);
  const [first] = await append(store, added('bob', 1n));
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const topic = topicAt({ position: 0, hash: '' }, async () => {
    asked.resolve();
    await gate.promise;
  });
  const publisher = new Publisher({ store, topic, onChange: () => {} });
  await asked.promise;
  const erases = { owner: 'alice', key: new Uint8Array(16), isCleared: false, isPublished: false };
  const event = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) } as const;
  const [plant] = await append(store, added('alice', 1n));
  await store.append([{ ...seal(headAt(plant!), event, randomUUID(), first!.time), erases }]);
  await append(store, added('alice', 2n));
  gate.resolve();
  await expect.poll(() => topic.keys).toEqual(['bob/1', undefined, 'alice', 'alice/2']);
  await publisher.close();
  await store.close();
});

test('a publisher that may not note that the topic has an erasure says why the erasure stays open, and goes on', async () => {
  using directory = dataDirectory();
  const store = await openErased(directory.path);
  await store.erasurePublished(3, false);
  const topic = topicAt({ position: 0, hash: '' }, async () => {});
  let mayUpdate = false;
  const refusing = override(store, {
    erasurePublished: async (position, isPublished) => {
      if (!mayUpdate) throw new Error('the user may not run update on events');
      await store.erasurePublished(position, isPublished);
    },
  });
  const publisher = new Publisher({ store: refusing, topic, onChange: () => {} });
  const readiness = () => publicationReadiness(publisher.status());
  await expect.poll(readiness).toEqual({
    ready: true,
    degraded: false,
    detail:
      'events are published; an erasure stays open, because the store cannot note that the topic has it: the user may not run update on events',
  });
  await append(store, added('bob', 2n));
  await expect.poll(() => topic.keys).toEqual([undefined, 'bob/1', 'alice', 'alice/2', 'bob/2']);
  mayUpdate = true;
  await expect.poll(() => readiness().detail, { timeout: 5_000 }).toBe('events are published');
  expect((await store.unfinished())[0]?.erases.isPublished).toBe(true);
  await publisher.close();
  await store.close();
});

const PUBLISHERS = [
  { what: 'somebody publishes', milliseconds: 60_000 },
  { what: 'the publisher is away', milliseconds: 0 },
];

test.each(PUBLISHERS)(
  'who was not told that the log is published leaves the name for the topic: $what',
  async ({ milliseconds }) => {
    using directory = dataDirectory();
    const store = await openErased(directory.path);
    await project(store);
    await store.erasurePublished(3, false);
    await store.lease('publisher', 'another', 60_000);
    await store.lease('publisher', 'another', milliseconds);
    const finisher = new Finisher(store, false);
    for (let time = 0; time < 2; time++) {
      await finisher.finish();
      expect((await eventAt(store, 1))!.content).toBeUndefined();
      expect(await store.unfinished()).toMatchObject([{ position: 3, erases: { owner: 'alice', isCleared: true } }]);
    }
    expect(finisher.waitsForTopic((await store.unfinished())[0]!)).toBe(true);
    await store.erasurePublished(3, true);
    await finisher.finish();
    expect(await store.unfinished()).toEqual([]);
    await store.close();
  },
);

test('a name waits for no topic of a log that nobody has published, but for one that came before its contents went', async () => {
  using directory = dataDirectory();
  const store = await openErased(directory.path);
  await project(store);
  await store.erasurePublished(3, false);
  const meanwhile = override(store, {
    async *eraseContents(owner, by) {
      await store.lease('publisher', 'another', 0);
      yield* store.eraseContents(owner, by);
    },
  });
  await new Finisher(meanwhile, false).finish();
  expect(await store.unfinished()).toMatchObject([{ position: 3, erases: { owner: 'alice', isCleared: true } }]);
  const unpublished = override(store, { wasLeased: async () => false });
  await new Finisher(unpublished, false).finish();
  expect(await store.unfinished()).toEqual([]);
  await store.close();
});
