import { MongoClient } from 'mongodb';
import { describe, expect, test } from 'vitest';
import type { MetaDocument } from '../../src/log/mongo/collections.ts';
import type { Store } from '../../src/log/store.ts';
import { added, append } from '../support/events.ts';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';

const FIRST_READS: Record<string, (store: Store) => Promise<unknown>> = {
  'of the head': (store) => store.head(),
  'of an owner’s events': async (store) => {
    for await (const _ of store.read(0, { owner: 'alice' }));
  },
  'of the generation of the rows': (store) => store.generation(),
};

describe.runIf(HAS_MONGODB)('reads of MongoDB', () => {
  test.each(Object.keys(FIRST_READS))(
    'the first read %s under a primary follows on a majority write: what a new primary has may not be known to be committed',
    async (name) => {
      const { store, second, uri, cleanup } = await openMongoStore();
      await append(store, added('alice', 1n));
      const other = await second();
      const client = new MongoClient(uri);
      const meta = client.db().collection<MetaDocument>('meta');
      const confirmations = async () => Number((await meta.findOne({ _id: 'primary' }))!.confirmations);
      const before = await confirmations();
      await FIRST_READS[name]!(other);
      expect(await confirmations()).toBe(before + 1);
      await FIRST_READS[name]!(other);
      expect(await confirmations()).toBe(before + 1);
      await client.close();
      await cleanup();
    },
  );

  test('a read goes on where a reply of 16 MiB ends', async () => {
    const { store, cleanup } = await openMongoStore();
    const name = 'x'.repeat(20 * 1024);
    // More than one reply holds, and less than one page.
    for (let first = 0n; first < 900n; first += 100n)
      await append(store, ...Array.from({ length: 100 }, (_, at) => added('alice', first + BigInt(at), name)));
    for (const selection of [{}, { owner: 'alice' }]) {
      const positions: number[] = [];
      for await (const batch of store.read(0, selection)) positions.push(...batch.map(({ position }) => position));
      expect(positions).toEqual(Array.from({ length: 900 }, (_, at) => at + 1));
    }
    await cleanup();
  });
});
