import { setImmediate } from 'node:timers/promises';
import { BSON as Bson, MongoClient } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { MAX_TEXT_CODE_POINTS } from '../../src/domain/plant.ts';
import type { MetaDocument } from '../../src/log/mongo/collections.ts';
import { CausalClock } from '../../src/log/mongo/connection/causal-clock.ts';
import { BSON } from '../../src/log/mongo/connection/client.ts';
import { Primary } from '../../src/log/mongo/connection/primary.ts';
import { Transactions } from '../../src/log/mongo/connection/transactions.ts';
import { toEventDocument } from '../../src/log/mongo/documents.ts';
import { mongoReadModel } from '../../src/log/mongo/read-model/read-model.ts';
import type { Selection, Store } from '../../src/log/store.ts';
import { added, append } from '../support/events.ts';
import { fill } from '../support/fill.ts';
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

const ROW_READS: Record<string, (readModel: Pick<Store, 'list' | 'snapshot'>, owner: string) => Promise<unknown>> = {
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
    const [db, clock] = [client.db(), new CausalClock(client)];
    const primary = new Primary(client, false, async () => {});
    const readModel = mongoReadModel(db, clock, primary, new Transactions(client, db, clock));
    const owners = [...Array.from({ length: MANY }, () => 'alice'), 'bob'];
    await Promise.all(owners.map((owner) => ROW_READS[name]!(readModel, owner)));
    expect(sent).toHaveLength(owners.length);
    expect(sent.indexOf('bob')).toBeLessThan(MANY / 4);
    await client.close();
    await cleanup();
  });

  test.each(Object.keys(ROW_READS))('many rows %s are decoded over several turns of the event loop', async (name) => {
    const { store, uri, cleanup } = await openMongoStore();
    await fill(store, 900, 'alice');
    const client = new MongoClient(uri, { ...BSON, monitorCommands: true });
    let turns = Number.NaN;
    client.on('commandSucceeded', ({ commandName }) => {
      if (commandName === 'aggregate') turns = 0;
    });
    const [db, clock] = [client.db(), new CausalClock(client)];
    const readModel = mongoReadModel(
      db,
      clock,
      new Primary(client, false, async () => {}),
      new Transactions(client, db, clock),
    );
    let isOver = false;
    const over = ROW_READS[name]!(readModel, 'alice').finally(() => {
      isOver = true;
    });
    for (; !isOver; turns++) await setImmediate();
    await over;
    expect(turns).toBeGreaterThan(4);
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

  test('no batch of events has more than 4.5 MiB, or 5.5 MiB with its keys, whatever their texts, and events come by the hundred', async () => {
    const { store, cleanup } = await openMongoStore();
    const longest = '\u{1F335}'.repeat(MAX_TEXT_CODE_POINTS);
    const lengthOf = async (selection: Selection) => {
      const lengths: number[] = [];
      for await (const batch of store.read(0, selection)) {
        const bytes = batch.map((event) => {
          const { owner, plantId, idempotencyKey, ...rest } = toEventDocument(event);
          const keys = selection.checksKeys && { owner, plantId, idempotencyKey };
          return Bson.calculateObjectSize({ ...rest, ...keys }, { ignoreUndefined: true });
        });
        const most = selection.checksKeys ? 5.5 : 4.5;
        expect(bytes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(most * 1024 * 1024);
        lengths.push(batch.length);
      }
      return lengths;
    };
    const sum = (lengths: readonly number[]) => lengths.reduce((all, length) => all + length, 0);
    let id = 0n;
    const fill = async (count: number, owner: string, name: string, tag: string) => {
      for (let left = count; left > 0; left -= 100)
        await append(store, ...Array.from({ length: Math.min(left, 100) }, () => added(owner, id++, name, tag)));
    };
    await fill(1_500, 'alice', 'Fern', 'indoor');
    const short = await lengthOf({});
    expect([sum(short), short.length <= 15]).toEqual([1_500, true]);
    await fill(300, longest, longest, longest);
    await fill(100, 'alice', 'Fern', 'indoor');
    expect(sum(await lengthOf({}))).toBe(1_900);
    expect(sum(await lengthOf({ checksKeys: true }))).toBe(1_900);
    expect(sum(await lengthOf({ owner: longest }))).toBe(300);
    expect(sum(await lengthOf({ owner: 'alice', to: 1_890 }))).toBe(1_590);
    await cleanup();
  });

  test('an event that is read keeps nothing in memory but what was read with it', async () => {
    const { store, cleanup } = await openMongoStore();
    for (const events of [1, 3]) {
      const { position } = await store.head();
      await append(store, ...Array.from({ length: events }, (_, id) => added('alice', BigInt(id))));
      for await (const read of store.read(position)) {
        const bytes = read.flatMap(({ bytes, hash, content }) => [bytes, hash, content!]);
        const size = bytes.reduce((sum, { length }) => sum + length, 0);
        expect(bytes.map(({ buffer }) => buffer.byteLength)).toEqual(Array(3 * events).fill(size));
      }
    }
    await cleanup();
  });

  test('a read goes on where a reply of 16 MiB ends', async () => {
    const { store, cleanup } = await openMongoStore();
    // As nobody but somebody with a shell can write them: ten are more than a reply holds.
    const name = 'x'.repeat(2 * 1024 * 1024);
    for (let first = 0n; first < 25n; first += 5n)
      await append(store, ...Array.from({ length: 5 }, (_, at) => added('alice', first + BigInt(at), name)));
    for (const selection of [{}, { owner: 'alice' }]) {
      const positions: number[] = [];
      for await (const batch of store.read(0, selection)) positions.push(...batch.map(({ position }) => position));
      expect(positions).toEqual(Array.from({ length: 25 }, (_, at) => at + 1));
    }
    await cleanup();
  });
});
