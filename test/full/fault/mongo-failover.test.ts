import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Command } from '../../../src/domain/decider.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { type EventLog, openLog } from '../../../src/log/log.ts';
import { openMongo } from '../../../src/log/mongo/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { added, append, chain } from '../../support/events.ts';
import { fold, readLog, readModel, verifyLog } from '../../support/fold.ts';
import type { Mongod } from '../../support/mongod.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import { count } from '../../support/soak.ts';

/** Stops a member from fetching what its primary writes, or lets it go on. */
const fetches = (member: Mongod, on: boolean) =>
  member.command({ configureFailPoint: 'stopReplProducer', mode: on ? 'off' : 'alwaysOn' });

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

  test('step-downs and kills of the primary under load: nothing acknowledged is lost, nothing done twice under one key, no gap, no stale head, and writes resume', {
    timeout: 300_000,
  }, async () => {
    const uri = set.uri(`plantstore-${randomUUID()}`);
    const stores = await Promise.all([openMongo(uri), openMongo(uri), openMongo(uri)]);
    const logs = await Promise.all(stores.slice(0, 2).map((store) => openLog(store, { onFault: () => {} })));
    const acknowledged = new Map<string, number>();
    const reasons = new Map<string, number>();
    let running = true;
    const clients = logs.flatMap((log, instance) =>
      Array.from({ length: 8 }, (_, client) => {
        const name = `${instance}.${client}`;
        return client % 2 === 0
          ? writes(log, name, () => running, acknowledged, reasons)
          : insists(logs, name, () => running, acknowledged);
      }),
    );
    const heads = readsHeads(stores[2]!, () => running, acknowledged);
    for (let round = 0; round < count(2, 20); round++) {
      for (const fail of [stepDown, killUnreplicated]) {
        await fail(set);
        const before = acknowledged.size;
        while (acknowledged.size < before + 50) await sleep(20);
      }
    }
    running = false;
    await Promise.all(clients);
    expect(await heads).toBeGreaterThan(10);
    const events = await readLog(stores[2]!);
    verifyLog(events);
    const positions = new Map(events.map(({ event, position }) => [event.actor, position]));
    expect(positions.size).toBe(events.length);
    for (const [actor, position] of acknowledged) expect([actor, positions.get(actor)]).toEqual([actor, position]);
    for (const reason of reasons.keys())
      expect(['OUTCOME_UNKNOWN', 'STORE_UNAVAILABLE', 'OVERLOADED']).toContain(reason);
    const { rows, position } = await readModel(stores[2]!, 'alice');
    expect(rows).toEqual(fold(events.slice(0, position)).get('alice') ?? []);
    console.log(`${acknowledged.size} acknowledged of ${events.length}, refused: ${JSON.stringify([...reasons])}`);
    for (const log of logs) await log.close();
    await stores[2]!.close();
  });
});

async function stepDown(set: ReplicaSet): Promise<void> {
  await set.stepDown();
}

/** Kills the primary while it holds writes that nobody else has, and which it will have to roll back. */
async function killUnreplicated(set: ReplicaSet): Promise<void> {
  const primary = await set.primary();
  const secondaries = set.members.filter((member) => member !== primary);
  await Promise.all(secondaries.map((member) => fetches(member, false)));
  await sleep(300);
  await primary.kill();
  await Promise.all(secondaries.map((member) => fetches(member, true)));
  await set.primary(secondaries);
  await primary.start();
}

let id = 0n;

/** A client that adds one plant after the other. Each has an actor of its own, which tells whose event is whose. */
async function writes(
  log: EventLog,
  client: string,
  running: () => boolean,
  acknowledged: Map<string, number>,
  reasons: Map<string, number>,
): Promise<void> {
  for (let step = 0; running(); step++) {
    const actor = `${client}.${step}`;
    const plant = { id: id++, name: actor, tag: undefined };
    try {
      const { position } = await log.submit({ type: 'AddPlant', owner: 'alice', actor, plant });
      acknowledged.set(actor, position);
    } catch (error) {
      if (!(error instanceof PlantStoreError)) throw error;
      reasons.set(error.reason, (reasons.get(error.reason) ?? 0) + 1);
      await sleep(50);
    }
  }
}

/** A client that asks for each plant, of one instance after the other, until it is told that it was added. */
async function insists(
  logs: readonly EventLog[],
  client: string,
  running: () => boolean,
  acknowledged: Map<string, number>,
): Promise<void> {
  for (let step = 0; running(); step++) {
    const actor = `${client}.${step}`;
    const plant = { id: id++, name: actor, tag: undefined };
    const command: Command = { type: 'AddPlant', owner: 'alice', actor, idempotencyKey: actor, plant };
    for (let attempt = step; !acknowledged.has(actor); attempt++) {
      try {
        acknowledged.set(actor, (await logs[attempt % logs.length]!.submit(command)).position);
      } catch (error) {
        expect((error as PlantStoreError).code).toBe(14);
        await sleep(50);
      }
    }
  }
}

/** Reads the head over and over; each shows at least what was acknowledged before it was asked for. Returns how many did. */
async function readsHeads(store: Store, running: () => boolean, acknowledged: Map<string, number>): Promise<number> {
  let reads = 0;
  while (running()) {
    const known = Math.max(0, ...acknowledged.values());
    const head = await store.head().catch(() => undefined);
    if (head !== undefined) {
      expect(head.position).toBeGreaterThanOrEqual(known);
      reads++;
    }
    await sleep(5);
  }
  return reads;
}

async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch {
      await sleep(50);
    }
  }
}
