import { expect, test } from 'vitest';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import { publicationReadiness } from '../../src/start/publication.ts';
import { added, append } from '../support/events.ts';
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
