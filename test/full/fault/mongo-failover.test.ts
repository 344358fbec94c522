import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openMongo } from '../../../src/log/mongo/store.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { added, append, chain, project } from '../../support/events.ts';
import { readLog } from '../../support/fold.ts';
import type { Mongod } from '../../support/mongod.ts';
import { fetches, ReplicaSet } from '../../support/replica-set.ts';

describe.runIf(HAS_MONGODB)('failover on MongoDB', () => {
  let set: ReplicaSet;
  beforeAll(async () => {
    set = await ReplicaSet.start(3);
  });
  afterEach(async () => {
    for (const member of set.members) {
      await member.start();
      await fetches(member, true);
    }
  });
  afterAll(() => set.remove());

  const others = (member: Mongod) => set.members.filter((other) => other !== member);

  test('a new primary that does not know yet what is majority-committed is not asked: head says so, or is up to date', {
    timeout: 120_000,
  }, async () => {
    const uri = set.uri(`plantstore-${randomUUID()}`);
    const [writer, reader] = [await openMongo(uri), await openMongo(uri)];
    await append(writer, added('alice', 1n));
    expect((await reader.head()).position).toBe(1);
    const old = await set.primary();
    const [next, last] = others(old) as [Mongod, Mongod];
    await fetches(last, false);
    await append(writer, added('alice', 2n));
    // The one member that has all of it becomes primary, and can commit nothing, since nobody fetches from it.
    await old.kill();
    expect(await set.primary([next])).toBe(next);
    const heads = await Promise.allSettled([reader.head(), reader.head()]);
    expect(heads.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await fetches(last, true);
    expect(await untilAnswered(() => reader.head())).toMatchObject({ position: 2 });
    await writer.close();
    await reader.close();
  });

  test('with strict reads head rejects where no majority confirms the primary; otherwise it answers from what is committed', async () => {
    const uri = set.uri(`plantstore-${randomUUID()}`);
    const [strict, plain] = [await openMongo(uri, { strictReads: true }), await openMongo(uri)];
    await append(strict, added('alice', 1n));
    expect((await strict.head()).position).toBe(1);
    expect((await plain.head()).position).toBe(1);
    const secondaries = others(await set.primary());
    await Promise.all(secondaries.map((member) => fetches(member, false)));
    await expect(strict.head()).rejects.toThrow();
    expect((await plain.head()).position).toBe(1);
    await Promise.all(secondaries.map((member) => fetches(member, true)));
    expect((await untilAnswered(() => strict.head())).position).toBe(1);
    await strict.close();
    await plain.close();
  });

  test('rows and the head are read where no majority keeps up, whatever the primary alone has', async () => {
    const database = `plantstore-${randomUUID()}`;
    const store = await openMongo(set.uri(database));
    await append(store, added('alice', 1n));
    await project(store);
    await using client = new MongoClient(set.uri(database), { writeConcern: { w: 1 } });
    const secondaries = others(await set.primary());
    await Promise.all(secondaries.map((member) => fetches(member, false)));
    await client.db().collection('others').insertOne({});
    expect((await store.list('alice', undefined, 10)).rows).toHaveLength(1);
    expect((await store.get([{ owner: 'alice', id: 1n }])).rows).toHaveLength(1);
    expect(await store.findByIdempotencyKeys([{ owner: 'alice', idempotencyKey: 'a' }])).toEqual([undefined]);
    await (await store.snapshot()).close();
    expect((await store.head()).position).toBe(1);
    await store.close();
  });

  test('no option of the URI weakens it: what only the primary has is not acknowledged, and not shown', async () => {
    const weak = 'w=1&journal=false&wtimeoutMS=1&readConcernLevel=local&retryWrites=true';
    const store = await openMongo(`${set.uri(`plantstore-${randomUUID()}`)}&${weak}`);
    await append(store, added('alice', 1n));
    const head = await store.head();
    const secondaries = others(await set.primary());
    await Promise.all(secondaries.map((member) => fetches(member, false)));
    await expect(store.append(chain(head, [added('alice', 2n)]))).rejects.toThrow();
    expect(await store.head()).toEqual(head);
    expect(await readLog(store)).toHaveLength(1);
    await store.close();
  });
});

async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch {
      await sleep(50);
    }
  }
}
