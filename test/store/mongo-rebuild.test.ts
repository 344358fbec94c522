import { MongoClient } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { openMongo } from '../../src/log/mongo/open.ts';
import type { Rebuild, Store } from '../../src/log/store.ts';
import { changesOf } from '../../src/log/view/projector.ts';
import { added, append, deleted, project } from '../support/events.ts';
import { readLog, readModel } from '../support/fold.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';
import { withStore } from './open-store.ts';

async function build(store: Store, rebuild: Rebuild): Promise<number> {
  const events = await readLog(store);
  await rebuild.apply(changesOf(events));
  return events.length;
}

async function collectionsOf(uri: string): Promise<string[]> {
  const client = new MongoClient(uri);
  const names = (await client.db().collections()).map(({ collectionName }) => collectionName);
  await client.close();
  return names.filter((name) => name.startsWith('plants'));
}

describe.runIf(HAS_MONGODB)('rebuilds on MongoDB', () => {
  test('one that another took the place of can neither go on nor be swapped', async () => {
    const { store, second, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n), added('alice', 2n));
    await project(store);
    const first = await store.rebuild();
    await first.apply({ deletes: [], inserts: [{ owner: 'mallory', id: 1n, name: 'Weed', tag: undefined }] });
    const next = await (await second()).rebuild();
    await expect(first.apply({ deletes: [], inserts: [] })).rejects.toThrow('another rebuild was started');
    await expect(first.swap(2)).rejects.toThrow('another rebuild was started');
    await first.close();
    expect(await next.swap(await build(store, next))).toBe(true);
    await next.close();
    expect(await collectionsOf(uri)).toEqual(['plants_2']);
    expect((await readModel(store, 'alice')).rows).toHaveLength(2);
    expect((await readModel(store, 'mallory')).rows).toEqual([]);
    await cleanup();
  });

  test('nothing is left of it but the rows that are read, whether it was swapped or given up', async () => {
    const { store, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n));
    const given = await store.rebuild();
    expect(await collectionsOf(uri)).toHaveLength(2);
    await given.close();
    expect(await collectionsOf(uri)).toEqual(['plants']);
    const swapped = await store.rebuild();
    expect(await swapped.swap(await build(store, swapped))).toBe(true);
    await swapped.close();
    expect(await collectionsOf(uri)).toEqual(['plants_2']);
    expect((await readModel(store, 'alice')).rows).toHaveLength(1);
    await cleanup();
  });

  test('what one leaves that is killed when it was swapped, or before, goes with the next start, or the next rebuild', async () => {
    const { store, second, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n));
    const swapped = await store.rebuild();
    expect(await swapped.swap(await build(store, swapped))).toBe(true);
    expect(await collectionsOf(uri)).toHaveLength(2);
    await second();
    expect(await collectionsOf(uri)).toEqual(['plants_1']);
    const left = await store.rebuild();
    await build(store, left);
    // It may still be at work: a start leaves it alone.
    await second();
    expect((await collectionsOf(uri)).toSorted()).toEqual(['plants_1', 'plants_2']);
    const next = await store.rebuild();
    expect((await collectionsOf(uri)).toSorted()).toEqual(['plants_1', 'plants_3']);
    expect(await next.swap(await build(store, next))).toBe(true);
    const last = await store.rebuild();
    expect((await collectionsOf(uri)).toSorted()).toEqual(['plants_3', 'plants_4']);
    await last.close();
    expect(await collectionsOf(uri)).toEqual(['plants_3']);
    expect((await readModel(store, 'alice')).rows).toHaveLength(1);
    await cleanup();
  });

  test('all who read at once after a swap of which their instance has not heard find the new rows', async () => {
    const { store, second, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n));
    await project(store);
    const reader = await second();
    expect((await reader.list('alice', undefined, 9)).generation).toBe(0);
    const rebuild = await store.rebuild();
    expect(await rebuild.swap(await build(store, rebuild))).toBe(true);
    await rebuild.close();
    const lists = await Promise.all(Array.from({ length: 8 }, () => reader.list('alice', undefined, 9)));
    for (const { rows, generation } of lists)
      expect({ rows: rows.length, generation }).toEqual({ rows: 1, generation: 1 });
    await cleanup();
  });

  test('one that begins while another is swapped in drops nothing that is read then', async () => {
    const { store, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n));
    await project(store);
    const { port, pathname } = new URL(uri);
    const proxy = await TcpProxy.start(Number(port));
    const behind = await openMongo(`mongodb://127.0.0.1:${proxy.port}${pathname}?directConnection=true`);
    const first = await store.rebuild();
    const end = await build(store, first);
    proxy.fate = (chunk) => (chunk.includes('update\0') && chunk.includes('building') ? 'hold' : 'forward');
    const next = behind.rebuild();
    await proxy.holds();
    expect(await first.swap(end)).toBe(true);
    proxy.fate = () => 'forward';
    proxy.release();
    await expect(next).rejects.toThrow('another rebuild was started');
    await first.close();
    expect(await collectionsOf(uri)).toEqual(['plants_1']);
    expect((await readModel(store, 'alice')).rows).toHaveLength(1);
    await behind.close();
    await proxy.close();
    await cleanup();
  });

  test('a swap whose answer is lost took place: what is read then stays, and the rows before it go', async () => {
    const { store, uri, cleanup } = await openMongoStore();
    await append(store, added('alice', 1n));
    await project(store);
    const { port, pathname } = new URL(uri);
    const proxy = await TcpProxy.start(Number(port));
    const behind = await openMongo(`mongodb://127.0.0.1:${proxy.port}${pathname}?directConnection=true`);
    const rebuild = await behind.rebuild();
    const end = await build(behind, rebuild);
    proxy.fate = (chunk) => (chunk.includes('findAndModify') ? 'lose reply' : 'forward');
    await expect(rebuild.swap(end)).rejects.toThrow();
    await rebuild.close();
    expect(await collectionsOf(uri)).toEqual(['plants_1']);
    expect((await readModel(store, 'alice')).rows).toHaveLength(1);
    await behind.close();
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
      for (let round = 0; round < 10; round++) {
        const rebuild = await store.rebuild();
        const end = await build(store, rebuild);
        await append(projecting, round % 2 === 0 ? deleted('alice', 7n) : added('alice', 7n));
        expect(await rebuild.swap(end)).toBe(true);
        await project(projecting);
        await rebuild.close();
      }
      running = false;
      await reading;
    }),
  );
});
