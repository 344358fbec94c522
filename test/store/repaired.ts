import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { repairReadModel } from '../../src/audit/repair.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { headAt } from '../../src/log/event/chain.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { BrokenReadModelError, type OwnedRow, type PlantRow, type Store } from '../../src/log/store.ts';
import { eventAt } from '../../src/log/whole-range.ts';
import type { Step as WatchStep } from '../../src/plants/watch/channel.ts';
import type { Watch } from '../../src/plants/watch/watch.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { sha256 } from '../../src/tlog/hash.ts';
import { added, append, deleted, NO_NODES, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { fill } from '../support/fill.ts';
import { fold, readLog, readModel } from '../support/fold.ts';
import { ALICE } from '../support/principal.ts';
import type { Database } from '../support/tampering.ts';
import { type OpenDatabase, verdictOf } from './audit-tampering.ts';

const NO_CHANGES = { deletes: [], inserts: [] };

const quiet = { onFault: () => {} };

async function repair(store: Store): Promise<void> {
  for await (const _ of repairReadModel(store));
}

/** What a read or a command gets while the rows cannot be read. */
function expectUnavailable(error: unknown): void {
  expect(error).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
}

const listOf = (log: EventLog, limit?: number) => log.list({ owner: 'alice', after: undefined, limit });

async function idsOf(log: EventLog): Promise<bigint[]> {
  const { plants } = await listOf(log);
  return (plants as readonly PlantRow[]).map(({ id }) => id);
}

const add = (log: EventLog, id: bigint, owner = 'alice') =>
  log.submit({ type: 'AddPlant', owner, actor: owner, plant: { id, name: 'Fern', tag: undefined } });

/** An instance with watches of alice's. */
type Watched = Awaited<ReturnType<typeof watched>>;

async function watched(store: Store) {
  const log = await openLog(store, quiet);
  const watches = new Watches(log, { maxWatches: 999, maxOwnerWatches: 999 });
  const open: Watch[] = [];
  const ends: string[] = [];
  const viewer = {
    unsent: 0,
    news: () => {},
    quiet: () => {},
    ended: ({ reason }: Error & { reason: string }) => ends.push(reason),
  };
  const textOf = (step: WatchStep) => ('plant' in step ? step.plant.id : step.type);
  return {
    log,
    ends,
    async begun(after?: number) {
      const watch = watches.open(ALICE, viewer);
      open.push(watch);
      const steps: WatchStep[] = [];
      for await (const piece of await watch.begin(after)) steps.push(...piece);
      return steps.map(textOf);
    },
    taken: () => open.flatMap((watch) => watch.take().map(textOf)),
    async close() {
      watches.close(new PlantStoreError('SHUTTING_DOWN', 'over'));
      await log.close();
    },
  };
}

/** What a repair means for what is remembered, on any store. */
export function repairedContract(name: string, open: OpenDatabase): void {
  describe(`a repair beside a running instance, on ${name}`, () => {
    test('a lost checkpoint is made anew, and what an instance remembers of the rows before ends', async () => {
      const opened = await open();
      await append(opened.store, ...[1n, 2n, 3n].map((id) => added('alice', id)));
      await project(opened.store);
      const log = await openLog(await opened.second(), quiet);
      const database = await opened.database();
      try {
        await database.removePlant('alice', 3n);
        expect(await idsOf(log)).toEqual([1n, 2n]);
        await database.removeCheckpoint();
        await expect(opened.store.checkpoint()).rejects.toThrow('run plantstore audit rebuild');
        for (const read of [() => opened.store.generation(), () => opened.store.list('alice', 0n, 9)])
          await expect(read()).rejects.toThrow('lost the checkpoint');
        expect((await opened.store.snapshot()).position).toBeUndefined();
        // A projector, or a repair that began when there was a checkpoint, does nothing.
        for (const from of [0, 3])
          for (const to of [3, 4]) expect(await opened.store.advance(from, to, NO_CHANGES, NO_NODES)).toBe(false);
        await repair(opened.store);
        expect(await idsOf(log)).toEqual([1n, 2n, 3n]);
        const generation = await opened.store.generation();
        await database.removeCheckpoint();
        await database.close();
        await repair(opened.store);
        expect(await opened.store.generation()).toBeGreaterThan(generation);
        await add(log, 4n);
        await expect.poll(() => opened.store.checkpoint()).toBe(4);
        expect((await verdictOf(opened.store)).verdict.ok).toBe(true);
      } finally {
        await log.close();
        await opened.cleanup();
      }
    });

    test('an event that was decided on wrong rows is folded after they are repaired', async () => {
      const { store, cleanup } = await open();
      try {
        await append(store, added('alice', 1n));
        await project(store);
        await append(store, added('alice', 1n, 'Palm'));
        await repair(store);
        expect(await store.checkpoint()).toBe(2);
        expect((await store.list('alice', undefined, 9)).rows).toEqual([{ id: 1n, name: 'Palm', tag: undefined }]);
      } finally {
        await cleanup();
      }
    });

    test('a watch that began on wrong rows ends with a repair, and does not go on from them', async () => {
      const opened = await open();
      await append(opened.store, ...[1n, 2n, 3n].map((id) => added('alice', id)));
      await project(opened.store);
      const database = await opened.database();
      await database.removePlant('alice', 3n);
      await database.close();
      const instance = await watched(await opened.second());
      const { log, ends, begun } = instance;
      const later: Watched[] = [];
      try {
        expect(await begun()).toEqual([1n, 2n, 'ready']);
        expect(await begun(3)).toEqual([]);
        await repair(opened.store);
        await expect.poll(() => ends).toEqual(['OVERLOADED', 'OVERLOADED']);
        expect(await begun(3)).toEqual(['reset', 1n, 2n, 3n, 'ready']);
        later.push(await watched(await opened.second()));
        expect(await later[0]!.begun(3)).toEqual(['reset', 1n, 2n, 3n, 'ready']);
        // Once every instance has heard of the repair.
        const ids = [1n, 2n, 3n];
        for (const { begun } of [instance, ...later]) {
          const resumedAtHead = async () => begun((await add(log, BigInt(ids.push(BigInt(ids.length + 1))))).position);
          await expect.poll(resumedAtHead).toEqual([]);
          expect(await begun(3)).toEqual(['reset', ...ids, 'ready']);
        }
      } finally {
        for (const { close } of [instance, ...later]) await close();
        await opened.cleanup();
      }
    });

    test('an instance that has not looked at the rows since a repair tells watches nothing that others would go on from', async () => {
      const opened = await open();
      await append(opened.store, ...[1n, 2n, 3n].map((id) => added('alice', id)));
      await project(opened.store);
      const database = await opened.database();
      await database.removePlant('alice', 3n);
      await database.close();
      const second = await opened.second();
      const look = Promise.withResolvers<void>();
      let isSlow = false;
      const slow = await watched(
        override(second, {
          generation: () => (isSlow ? look.promise : Promise.resolve()).then(() => second.generation()),
        }),
      );
      const other = await watched(await opened.second());
      try {
        expect(await slow.begun()).toEqual([1n, 2n, 'ready']);
        isSlow = true;
        await repair(opened.store);
        await expect.poll(() => other.begun(3)).toEqual(['reset', 1n, 2n, 3n, 'ready']);
        await add(other.log, 4n);
        await expect.poll(() => slow.log.status.head).toBe(4);
        expect(slow.taken()).toEqual([]);
        look.resolve();
        await expect.poll(() => slow.ends).toEqual(['OVERLOADED']);
        expect(slow.taken()).toEqual([]);
      } finally {
        look.resolve();
        for (const { close } of [slow, other]) await close();
        await opened.cleanup();
      }
    });
  });
}

/** More than two tiles. */
const EVENTS = 600;

const WRONG = sha256(Buffer.from('wrong'));

const weed = (owner: string, id: bigint): OwnedRow => ({ owner, id, name: 'Weed', tag: 'x' });

/** What may be wrong with the rows, the nodes and the checkpoint of EVENTS plants of alice's. */
const DAMAGES: readonly (readonly [string, (database: Database) => Promise<void>])[] = [
  [
    'everything at once',
    async (database) => {
      await database.removePlant('alice', 7n);
      await database.putPlant(weed('alice', 8n));
      await database.putPlant(weed('zoe', 1n));
      await database.removeNode(0);
      await database.putNode(1, WRONG.subarray(1));
      await database.putNode(4, WRONG);
      await database.setCheckpoint(299);
    },
  ],
  [
    'everything at once, and no checkpoint',
    async (database) => {
      await database.removePlant('alice', 7n);
      await database.putPlant(weed('zoe', 1n));
      await database.putNode(0, WRONG);
      await database.removeNode(1);
      await database.removeCheckpoint();
    },
  ],
  [
    'an erasure that is none, and nodes of no events',
    async (database) => {
      await database.setUpTo(EVENTS + 1_000);
      for (const index of [-1, 40]) await database.putNode(index, WRONG);
    },
  ],
];

type Step = Parameters<Store['advance']>;

/** The kinds of steps of a repair. */
const STEPS = {
  rows: ([, , { inserts }]: Step) => inserts.length > 0,
  'the checkpoint': ([from, to]: Step) => from !== to,
  nodes: ([, , , { hashes }]: Step) => hashes.length > 0,
};

/** What a repair does about damage, on any store. */
export function repairsContract(name: string, open: OpenDatabase): void {
  /** A store with EVENTS events of alice's, whose read model is damaged. */
  const damaged = async (damage: (database: Database) => Promise<void>) => {
    const opened = await open();
    await fill(opened.store, EVENTS, 'alice');
    const edit = async (change: (database: Database) => Promise<void>) => {
      const database = await opened.database();
      await change(database).finally(() => database.close());
    };
    return { ...opened, edit, damage: () => edit(damage) };
  };

  const expectWhole = async (store: Store) => {
    expect((await verdictOf(store)).places).toEqual({});
    const rows = fold(await readLog(store));
    for (const owner of ['a', 'alice', 'bob', 'zoe'])
      expect((await readModel(store, owner)).rows).toEqual(rows.get(owner) ?? []);
  };

  describe(`a repair of what was damaged, on ${name}`, () => {
    test.each(DAMAGES)(
      '%s: repaired while an instance lists, adds and watches',
      async (_, damage) => {
        const opened = await damaged(damage);
        // The instance believes that it has the projector's lease for longer than it has, as a frozen one does.
        const second = await opened.second();
        const lease: Store['lease'] = (of, holder, time) => second.lease(of, holder, Math.min(time, 200));
        const log = await openLog(override(second, { lease }), quiet);
        const watched: number[] = [];
        log.onExtended((news) => watched.push(...news.map(({ position }) => position)));
        let running = true;
        const bob = { owner: 'bob', actor: 'bob' };
        let added = 0n;
        const adds = async () => {
          while (running) {
            await log
              .submit({ type: 'AddPlant', ...bob, plant: { id: added, name: 'Oak', tag: undefined } })
              .then(() => added++, expectUnavailable);
            await sleep(50);
          }
        };
        const lists = async () => {
          while (running) {
            await log.list({ owner: 'bob', after: undefined, limit: undefined }).catch(expectUnavailable);
            await log.list({ owner: 'alice', after: undefined, limit: 5 }).catch(expectUnavailable);
            await sleep(1);
          }
        };
        const busy = [adds(), lists()];
        try {
          await sleep(50);
          expect(await listOf(log, 3)).toMatchObject({ plants: expect.any(Array) });
          await opened.damage();
          await sleep(50);
          await repair(opened.store);
          // From here on nothing is remembered of the rows before.
          expect((await idsOf(log)).length).toBe(EVENTS);
          await expect(add(log, 7n)).rejects.toThrow('exists');
          expect(await log.get({ owner: 'alice', id: 8n })).toMatchObject({ name: 'Plant 8' });
          expect(await log.get({ owner: 'zoe', id: 1n })).toBeUndefined();
          running = false;
          await Promise.all(busy);
          const { position } = await log.head();
          await expect.poll(() => opened.store.checkpoint()).toBe(position);
          expect(position).toBe(EVENTS + Number(added));
          expect(watched).toEqual(Array.from({ length: Number(added) }, (_, at) => EVENTS + 1 + at));
          await expectWhole(opened.store);
        } finally {
          running = false;
          await Promise.allSettled(busy);
          await log.close();
          await opened.cleanup();
        }
      },
      60_000,
    );

    test.each(Object.entries(STEPS))(
      'it changes nothing before it has the projector’s lease, and begins again where a step of %s came late',
      async (_, isLate) => {
        const opened = await damaged(DAMAGES[0]![1]);
        await opened.damage();
        let [asked, steps, late] = [0, 0, 0];
        const store = override(opened.store, {
          lease: async (...lease) => ++asked > 1 && opened.store.lease(...lease),
          advance: async (...step) => {
            expect(asked).toBeGreaterThan(1);
            if (steps++ === 0) throw new BrokenReadModelError('another repair has deleted the same plant');
            return !(isLate(step) && late++ === 0) && opened.store.advance(...step);
          },
        });
        await repair(store);
        expect(late).toBeGreaterThan(0);
        await expectWhole(opened.store);
        await opened.cleanup();
      },
    );

    test('of two repairs that find no checkpoint, one that was frozen spoils nothing of the other', async () => {
      const opened = await damaged(async (database) => {
        await database.removePlant('alice', 7n);
        await database.removeCheckpoint();
      });
      await opened.damage();
      const second = await opened.second();
      const [frozen, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const late = repair(
        override(second, {
          lease: async () => true,
          advance: async (...step) => {
            frozen.resolve();
            await woken.promise;
            expect(await second.advance(...step)).toBe(true);
            throw new Error('killed');
          },
        }),
      );
      await frozen.promise;
      await append(opened.store, deleted('alice', 7n));
      const store = override(opened.store, {
        advance: async (...step) => {
          if (step[0] === undefined) {
            woken.resolve();
            await expect(late).rejects.toThrow('killed');
          }
          return opened.store.advance(...step);
        },
      });
      await repair(store);
      await expectWhole(opened.store);
      await opened.cleanup();
    }, 60_000);

    test('without a checkpoint, a step is done before another creates one, or not at all', async () => {
      const opened = await open();
      const second = await opened.second();
      const inserts = Array.from({ length: 250 }, (_, id) => weed('alice', BigInt(id)));
      // So many that the step takes longer than the other, and a read after it.
      const hashes = { first: 0, hashes: Array.from({ length: 1_024 }, () => WRONG) };
      const outcomes: boolean[] = [];
      const database = await opened.database();
      for (let round = 1; round <= 5; round++) {
        await database.removeCheckpoint();
        const late = second.advance(undefined, undefined, { deletes: [], inserts }, hashes);
        expect(await opened.store.advance(undefined, round, NO_CHANGES, NO_NODES)).toBe(true);
        const { rows } = await opened.store.list('alice', undefined, 1);
        const isDone = await late;
        outcomes.push(isDone === rows.length > 0);
        if (isDone) await second.advance(round, round, { deletes: inserts, inserts: [] }, NO_NODES);
      }
      await database.close();
      expect(outcomes).not.toContain(false);
      await opened.cleanup();
    }, 60_000);

    test('of a checkpoint that another repair makes meanwhile, before the end of what it has read, it says so', async () => {
      const opened = await damaged((database) => database.removeCheckpoint());
      await opened.damage();
      const store = override(opened.store, {
        // Of two that found none, this one comes second.
        lease: async () => opened.store.advance(undefined, EVENTS - 9, NO_CHANGES, NO_NODES).then(() => true),
      });
      await expect(repair(store)).rejects.toThrow(
        `is at position ${EVENTS - 9}, before ${EVENTS}, to which the log was read: another repair made it meanwhile`,
      );
      await opened.cleanup();
    }, 60_000);

    test('it ends also where a server that was deposed tells of an end of the log before what it has read', async () => {
      const opened = await damaged((database) => database.removePlant('alice', 7n));
      await opened.damage();
      const store = override(opened.store, { head: async () => headAt((await eventAt(opened.store, EVENTS - 9))!) });
      await repair(store);
      await expectWhole(opened.store);
      await opened.cleanup();
    }, 60_000);

    test('projectors that cannot go on, of a log that never rests, let it have its turn', async () => {
      const opened = await damaged((database) => database.putPlant(weed('bob', 50n)));
      const log = await openLog(await opened.second(), quiet);
      let running = true;
      const faults: unknown[] = [];
      const stuck = await openLog(await opened.second(), { ...quiet, onReadModel: (fault) => faults.push(fault) });
      // The row comes after the decision and before the step: the projector fails at every step from here on.
      await opened.damage();
      await append(opened.store, added('bob', 50n));
      await expect.poll(() => faults.length).toBeGreaterThan(0);
      const adds = (async () => {
        for (let id = 0n; running; id++) await add(log, id, 'carol');
      })();
      await repair(opened.store);
      running = false;
      await adds;
      await Promise.all([log.close(), stuck.close()]);
      await project(opened.store);
      await expectWhole(opened.store);
      await opened.cleanup();
    }, 60_000);
  });
}
