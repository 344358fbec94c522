import { expect, test } from 'vitest';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import type { PublisherStatus } from '../../src/publisher/status.ts';
import type { TopicSession } from '../../src/publisher/topic.ts';
import { publicationReadiness } from '../../src/start/publication.ts';
import { added, append } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { dataDirectory } from '../support/publication.ts';

/** Kafka is away, and with it the position of the last published event. */
const away = { open: () => Promise.reject(new Error('ECONNREFUSED')) };

test('a publisher that started while Kafka was away says how many events wait since, and for how long', async () => {
  using directory = dataDirectory();
  const store = openSqlite(directory.path);
  await append(store, added('alice', 1n));
  const publisher = new Publisher({ store, topic: away, onChange: () => {} });
  const readiness = () => publicationReadiness(publisher.status()).detail;
  // The event from before may be on the topic.
  await expect.poll(readiness).toMatch(/^events cannot be published; how many wait is unknown/);
  expect(publisher.status()).toMatchObject({ published: undefined, lagEvents: undefined, lagSeconds: undefined });

  await append(store, added('alice', 2n), added('alice', 3n));
  await expect.poll(() => publisher.status()).toMatchObject({ published: undefined, lagEvents: 2 });
  expect(publisher.status().lagSeconds).toBeGreaterThan(0);
  expect(readiness()).toMatch(
    /; since this instance took over, not published yet: 2 events, the oldest for \d+ s; how many from before is/,
  );
  await publisher.close();
  await store.close();
});

test('once another instance publishes, a publisher opens no session, says nothing of the topic, and later counts anew', async () => {
  using directory = dataDirectory();
  const store = openSqlite(directory.path);
  await append(store, added('alice', 1n));
  const changes: PublisherStatus[] = [];
  let [isHeld, sessions] = [true, 0];
  const session: TopicSession = {
    start: { position: 0, hash: '' },
    notice: undefined,
    publish: async () => {
      isHeld = false;
      throw new Error('fenced');
    },
    close: () => {},
  };
  const publisher = new Publisher({
    store: override(store, { lease: async () => isHeld }),
    topic: { open: () => (sessions++ === 0 ? Promise.resolve(session) : away.open()) },
    onChange: (status) => changes.push(status),
  });
  const unknown = { published: undefined, lagEvents: undefined, lagSeconds: undefined };
  await expect.poll(() => publisher.status()).toMatchObject({ state: 'standby', ...unknown });
  // Another session would end that of the other instance.
  expect(sessions).toBe(1);

  await append(store, added('alice', 2n), added('alice', 3n));
  isHeld = true;
  await expect.poll(() => publisher.status().state).toBe('degraded');
  await append(store, added('alice', 4n));
  await expect
    .poll(() => publisher.status())
    .toMatchObject({ ...unknown, lagEvents: 1, lagSeconds: expect.any(Number) });
  await publisher.close();
  expect(changes.map(({ state, detail }) => detail ?? state)).toEqual(['fenced', 'standby', 'ECONNREFUSED']);
  await store.close();
});

test('a publisher whose stop breaks a transaction off does not report that as a failure', async () => {
  using directory = dataDirectory();
  const store = openSqlite(directory.path);
  await append(store, added('alice', 1n));
  const begun = Promise.withResolvers<void>();
  const transaction = Promise.withResolvers<void>();
  const publish = () => {
    begun.resolve();
    return transaction.promise;
  };
  const session = { start: { position: 0, hash: '' }, notice: undefined, publish, close: () => {} };
  const changes: PublisherStatus[] = [];
  const onChange = (status: PublisherStatus) => changes.push(status);
  const publisher = new Publisher({ store, topic: { open: async () => session }, onChange });
  await begun.promise;
  const closed = publisher.close();
  transaction.reject(new Error('broken off'));
  await closed;
  expect(changes).toEqual([]);
  await store.close();
});
