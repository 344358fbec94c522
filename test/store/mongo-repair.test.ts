import { Double, Int32, Long, MongoClient } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { repairReadModel } from '../../src/audit/repair.ts';
import { openMongo } from '../../src/log/mongo/store.ts';
import type { Store } from '../../src/log/store.ts';
import { added, append, deleted, project } from '../support/events.ts';
import { readModel } from '../support/fold.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { verdictOf } from './audit-tampering.ts';
import { openMongoDatabase } from './mongo-database.ts';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';
import { withStore } from './open-store.ts';

async function repair(store: Store): Promise<void> {
  for await (const _ of repairReadModel(store));
}

describe.runIf(HAS_MONGODB)('repairs on MongoDB', () => {
  test.each([
    ['Int32', new Int32(1)],
    ['Double', new Double(1)],
  ])('a checkpoint that somebody has set to a number of another type, %s, is a checkpoint', async (_, position) => {
    const { store, second, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n), added('alice', 2n));
    await project(store);
    const client = new MongoClient(uri);
    await client
      .db()
      .collection('plants')
      .deleteMany({ '_id.id': Long.fromNumber(2) });
    const set = { position, generation: new Int32(4) };
    await client.db().collection<{ _id: string }>('checkpoints').updateOne({ _id: 'plants' }, { $set: set });
    await client.close();
    expect(await store.checkpoint()).toBe(1);
    expect(await store.generation()).toBe(4);
    const rows = [{ id: 1n, name: 'Fern', tag: undefined }];
    expect(await store.list('alice', undefined, 9)).toEqual({
      rows,
      checkpoint: 1,
      upTo: 1,
      generation: 4,
      whole: true,
    });
    await repair(await second());
    expect(await store.checkpoint()).toBe(2);
    expect(await store.generation()).toBe(5);
    expect((await verdictOf(store)).places).toEqual({});
    await cleanup();
  });

  test('a step whose answer is lost took place: the repair goes on, or can be repeated', async () => {
    const { store, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n), added('alice', 2n));
    await project(store);
    const database = openMongoDatabase(uri);
    await database.removePlant('alice', 1n);
    await database.close();
    const { port, pathname } = new URL(uri);
    const proxy = await TcpProxy.start(Number(port));
    const behind = await openMongo(`mongodb://127.0.0.1:${proxy.port}${pathname}?directConnection=true`);
    let lost = 0;
    proxy.fate = (chunk) => (chunk.includes('commitTransaction') && lost++ < 1 ? 'lose reply' : 'forward');
    await repair(behind).catch(() => {});
    expect(lost).toBeGreaterThan(0);
    expect((await readModel(store, 'alice')).rows).toHaveLength(2);
    await behind.close();
    await repair(store);
    expect((await verdictOf(store)).places).toEqual({});
    await proxy.close();
    await cleanup();
  });

  test(
    'while lists are read and the projector moves, every list is of one position or the next',
    withStore(openMongoStore)(async ({ store, second }) => {
      const [reader, projecting] = [await second(), await second()];
      const plants = Array.from({ length: 50 }, (_, id) => added('alice', BigInt(id)));
      await append(store, ...plants);
      await project(store);
      let running = true;
      const lists = async () => {
        for (let last = 0; running; ) {
          const { rows, checkpoint } = await reader.list('alice', undefined, 99);
          expect(rows).toHaveLength(50 - (checkpoint % 2));
          expect(checkpoint).toBeGreaterThanOrEqual(last);
          last = checkpoint;
        }
      };
      const reading = lists();
      for (let round = 0; round < 4; round++) {
        await append(projecting, round % 2 === 0 ? deleted('alice', 7n) : added('alice', 7n));
        await Promise.all([repair(store), project(projecting)]);
      }
      running = false;
      await reading;
    }),
  );
});
