import { afterEach, describe, expect, test, vi } from 'vitest';
import { openSqlite } from '../../../src/log/sqlite/store.ts';
import { Publisher } from '../../../src/publisher/publisher.ts';
import { append } from '../../support/events.ts';
import { dataDirectory } from '../../support/publication.ts';
import { eventually, plants } from './series.ts';

const HOUR = 3_600_000;

describe('a clock that is set', () => {
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['back', -HOUR],
    ['forth', HOUR],
  ])(
    '%s by an hour neither holds up publication nor ends the lease',
    async (_, milliseconds) => {
      using directory = dataDirectory();
      const store = openSqlite(directory.path);
      const published: number[] = [];
      let [asked, isSet] = [0, false];
      const publisher = new Publisher({
        store: {
          head: () => store.head(),
          read: (after, only) => store.read(after, only),
          // Cannot be renewed once: who takes the set clock for time that has passed gives it up then.
          unfinished: async () => [],
          erasurePublished: async () => {},
          lease: async () => {
            if (isSet && asked++ === 0) throw new Error('the store is away');
            return true;
          },
        },
        topic: {
          open: async () => ({
            start: { position: 0, hash: '' },
            notice: undefined,
            publish: async (events) => {
              published.push(...events.map(({ position }) => position));
              if (!isSet) vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });
              isSet = true;
            },
            close: () => {},
          }),
        },
        onChange: () => {},
      });
      await append(store, ...plants(0, 1));
      await eventually(
        async () => asked,
        (times) => times! > 0,
      );
      await append(store, ...plants(1, 1));
      await eventually(
        async () => published,
        (positions) => positions?.length === 2,
      );
      expect(published).toEqual([1, 2]);
      await publisher.close();
      await store.close();
    },
    20_000,
  );
});
