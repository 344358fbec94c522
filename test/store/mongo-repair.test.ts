import { type Db, type Document, Double, Int32, Long, MongoClient } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { repairReadModel } from '../../src/audit/repair.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { Store } from '../../src/log/store.ts';
import { added, append, project } from '../support/events.ts';
import { verdictOf } from './audit-tampering.ts';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';

const add = (log: EventLog, id: bigint) =>
  log.submit({ type: 'AddPlant', owner: 'alice', actor: 'alice', plant: { id, name: 'Fern', tag: undefined } });

/** Puts `plants` back as it was after the first event. */
async function restorePlants(db: Db): Promise<void> {
  const plants = db.collection<{ _id: string; position: Long }>('plants');
  await plants.deleteMany({ '_id.id': { $gt: Long.ONE } });
  await plants.updateOne({ _id: 'checkpoint' }, { $set: { position: Long.ONE } });
}

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
    await client.db().collection<{ _id: string }>('plants').updateOne({ _id: 'checkpoint' }, { $set: set });
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
    // A step of the repair, and one after what it has projected.
    expect(await store.generation()).toBe(6);
    expect((await verdictOf(store)).places).toEqual({});
    await cleanup();
  });

  test.each<[string, Document]>([
    ['position is a string', { position: '1' }],
    ['position is null', { position: null }],
    ['position is in a list', { position: [Long.ONE] }],
    ['position is no integer', { position: new Double(0.5) }],
    ['generation is a string', { generation: 'x' }],
    ['upTo is a string', { upTo: 'x' }],
  ])('a checkpoint whose %s counts as lost: every instance says so, and a repair makes it anew', async (_, set) => {
    const { store, second, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n), added('alice', 2n));
    await project(store);
    const told: (string | undefined)[] = [];
    const onReadModel = (fault: Error | undefined) => told.push(fault?.message);
    const log = await openLog(await second(), { onFault: () => {}, onReadModel });
    const client = new MongoClient(uri);
    await client.db().collection<{ _id: string }>('plants').updateOne({ _id: 'checkpoint' }, { $set: set });
    await client.close();
    const lost = 'the store has lost the checkpoint of its read model: run plantstore audit rebuild';
    await expect.poll(() => told).toEqual([lost]);
    await expect(store.list('alice', undefined, 9)).rejects.toThrow(lost);
    expect((await verdictOf(store)).places).toEqual({ read_model: lost });
    await repair(store);
    await expect.poll(() => told).toEqual([lost, undefined]);
    expect(await store.list('alice', undefined, 9)).toMatchObject({ checkpoint: 2, upTo: 2 });
    expect((await verdictOf(store)).places).toEqual({});
    await log.close();
    await cleanup();
  });

  test.each<[string, (db: Db) => Promise<unknown>]>([
    ['dropped', (db) => db.dropCollection('plants')],
    ['renamed', (db) => db.renameCollection('plants', 'plants_before')],
    ['removed', (db) => db.collection('plants').deleteMany({})],
    ['restored from before', restorePlants],
  ])('rows that are %s under running instances: none decides on what is left, until a repair', async (_, change) => {
    const { store, second, uri, cleanup } = await openMongoStore();
    await using client = new MongoClient(uri);
    const told: (string | undefined)[] = [];
    const onReadModel = (fault: Error | undefined) => told.push(fault?.message);
    const log = await openLog(await second(), { onFault: () => {}, onReadModel });
    for (const id of [1n, 2n, 3n]) await add(log, id);
    await expect.poll(() => log.status.checkpoint).toBe(3);
    // It has no row in its memory.
    const another = await openLog(await second(), { onFault: () => {} });
    await change(client.db());
    await expect.poll(() => told).toHaveLength(1);
    for (const id of [1n, 4n]) await expect(add(another, id)).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    expect((await store.head()).position).toBe(3);
    await repair(store);
    await expect.poll(() => told.at(-1)).toBeUndefined();
    await expect(add(another, 1n)).rejects.toMatchObject({ reason: 'PLANT_ALREADY_EXISTS' });
    await add(another, 4n);
    for (const one of [log, another]) await one.close();
    expect((await verdictOf(store)).places).toEqual({});
    await cleanup();
  });

  test.each<[string, (db: Db) => Promise<unknown>]>([
    ['dropped', (db) => db.dropCollection('plants')],
    ['renamed', (db) => db.renameCollection('plants', 'plants_before')],
  ])('a list that is read while the rows are %s does not end as if it were whole', async (_, change) => {
    const { store, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n));
    await project(store);
    const snapshot = await store.snapshot();
    await using client = new MongoClient(uri);
    await change(client.db());
    const lost = 'the store has lost the checkpoint of its read model';
    for (const rows of [snapshot.list('alice', undefined), snapshot.all()])
      await expect(rows[Symbol.asyncIterator]().next()).rejects.toThrow(lost);
    await cleanup();
  });

  test.each([
    ['id', { owner: 'alice', id: new Int32(2) }],
    ['owner', { owner: new Int32(7), id: Long.fromNumber(2) }],
    ['parts', new Int32(7)],
  ])('a row whose _id has another type (%s) is found, and no repair goes on for ever', async (_, _id) => {
    const { store, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n));
    await project(store);
    const client = new MongoClient(uri);
    await client.db().collection<{ _id: typeof _id; name: string }>('plants').insertOne({ _id, name: 'Fern' });
    const why = 'has an _id of another type than the service writes: delete it by hand';
    expect((await verdictOf(store)).places).toEqual({ read_model: expect.stringContaining(why) });
    await expect(repair(store)).rejects.toThrow(why);
    await client.close();
    await cleanup();
  });
});
