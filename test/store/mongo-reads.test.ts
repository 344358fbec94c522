import { MongoClient } from 'mongodb';
import { describe, expect, test } from 'vitest';
import type { MetaDocument } from '../../src/log/mongo/collections.ts';
import { CausalClock } from '../../src/log/mongo/connection/causal-clock.ts';
import { BSON } from '../../src/log/mongo/connection/client.ts';
import { Transactions } from '../../src/log/mongo/connection/transactions.ts';
import { ReadModel } from '../../src/log/mongo/read-model/read-model.ts';
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

/** Reads of one owner that are asked for at once. */
const MANY = 64;

const ROW_READS: Record<string, (readModel: ReadModel, owner: string) => Promise<unknown>> = {
  'of rows': (readModel, owner) => readModel.list(owner, undefined, 1_000),
  'of rows of a snapshot': async (readModel, owner) => {
    for await (const _ of (await readModel.snapshot()).list(owner, undefined));
  },
};

describe.runIf(HAS_MONGODB)('reads of MongoDB', () => {
  test.each(Object.keys(ROW_READS))('many reads %s of one owner leave room for one of another owner', async (name) => {
    const { uri, cleanup } = await openMongoStore();
    const client = new MongoClient(uri, { ...BSON, monitorCommands: true });
    const sent: string[] = [];
    client.on('commandStarted', ({ commandName, command }) => {
      if (commandName === 'aggregate') sent.push(command.pipeline[0].$match._id.$gte.owner);
    });
    const clock = new CausalClock(client);
    const readModel = new ReadModel(client.db(), clock, new Transactions(client, clock));
    const owners = [...Array.from({ length: MANY }, () => 'alice'), 'bob'];
    await Promise.all(owners.map((owner) => ROW_READS[name]!(readModel, owner)));
    expect(sent).toHaveLength(owners.length);
    expect(sent.indexOf('bob')).toBeLessThan(MANY / 4);
    await client.close();
    await cleanup();
  });

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
