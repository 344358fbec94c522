import { expect, test } from 'vitest';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import { dataDirectory } from '../support/publication.ts';
import { eventually } from './series.ts';

test('a publisher that loses its lease for a moment, while it cannot publish, tries again', async () => {
  using directory = dataDirectory();
  const store = openSqlite(directory.path);
  let [leases, opens] = [0, 0];
  const publisher = new Publisher({
    store: {
      head: () => store.head(),
      read: (after, only) => store.read(after, only),
      // Asked once to begin, and again after the first failure.
      lease: async () => ++leases !== 2,
    },
    topic: {
      open: async () => {
        opens++;
        throw new Error('no broker');
      },
    },
    onChange: () => {},
  });
  await eventually(
    async () => opens,
    (times) => times! > 2,
  );
  expect(publisher.stats()).toMatchObject({ state: 'degraded', detail: 'no broker' });
  await publisher.close();
  await store.close();
}, 20_000);
