import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { Publisher } from '../../../src/publisher/publisher.ts';
import { openSqliteDatabase, said } from '../../store/sqlite-database.ts';
import { append } from '../../support/events.ts';
import { dataDirectory } from '../../support/publication.ts';
import { eventually, plants } from './series.ts';

test('an event whose content was changed is not published, nor any after it, but all before it; the status says which', async () => {
  using directory = dataDirectory();
  const store = openSqlite(directory.path);
  const events = await append(store, ...plants(0, 5));
  const database = openSqliteDatabase(directory.path);
  await database.change(4, said({ name: 'EVIL' }));
  await database.close();
  const published: number[] = [];
  const startAfter = (position: number) => ({
    position,
    hash: Buffer.from(events[position - 1]!.hash).toString('hex'),
  });
  const publisher = new Publisher({
    store,
    topic: {
      open: async () => ({
        start: startAfter(2 + published.length),
        notice: undefined,
        publish: async (batch) => void published.push(...batch.map(({ position }) => position)),
        close: () => {},
      }),
    },
    onChange: () => {},
  });
  await eventually(
    async () => publisher.stats(),
    (status) => status?.state === 'degraded' || published.length > 1,
  );
  expect(publisher.stats()).toMatchObject({
    state: 'degraded',
    detail: 'the log is broken at position 4: its content does not match its commitment',
  });
  expect(published).toEqual([3]);
  await publisher.close();
  await store.close();
});
