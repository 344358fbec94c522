import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/domain/decider.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { RefusedAppendError, type Store } from '../../src/log/store.ts';
import { commandArbitrary } from '../support/arbitraries.ts';
import { project } from '../support/events.ts';
import { type Fault, override, withFaults, withoutProjector } from '../support/faulty-store.ts';
import { collect, fold, readLog, readModel, verifyLog } from '../support/fold.ts';
import { count } from '../support/soak.ts';
import type { OpenStore } from './open-store.ts';

/** Bytes of some forty events in the tail. */
const TAIL_BYTES = 60_000;

const owners = ['alice', 'bob', 'a', 'a\u0000'];

type Outcome = LoggedEvent | PlantStoreError;
type Gate = PromiseWithResolvers<void>;

/** Every command at once; each one's event or error. */
const submitAll = (log: EventLog, commands: readonly Command[]): Promise<Outcome[]> =>
  Promise.all(
    commands.map((command) =>
      // An instance that has joined no others answers with the event itself.
      (log.submit(command) as Promise<LoggedEvent>).catch((error: unknown) => {
        if (error instanceof PlantStoreError) return error;
        throw error;
      }),
    ),
  );

/** An event whose hash compares whatever kind of array holds it. */
const plain = (event: LoggedEvent) => ({ ...event, hash: Buffer.from(event.hash).toString('hex') });

const quiet = { onFault: () => {} };

const refusedAppend = new RefusedAppendError('the disk is full', {});

async function expectHeadViewIsFold(log: EventLog, events: readonly LoggedEvent[]): Promise<void> {
  const expected = fold(events);
  for (const owner of owners) {
    const plants = expected.get(owner) ?? [];
    expect(await collect(await log.list({ owner, after: undefined, limit: undefined }))).toEqual(plants);
    const middle = plants[Math.floor(plants.length / 2)]?.id;
    const page = await log.list({ owner, after: middle, limit: 1 });
    const rest = plants.filter(({ id }) => middle === undefined || id > middle);
    expect(await collect(page)).toEqual(rest.slice(0, 1));
    expect(page.next).toBe(rest.length > 1 ? rest[0]!.id : undefined);
  }
}

/** What the log built on any store has to keep. */
export function logContract(name: string, open: OpenStore): void {
  describe(`event log on ${name}`, () => {
    const operations = fc.array(
      fc.oneof(
        {
          weight: 5,
          arbitrary: fc.record({
            do: fc.constant('submit' as const),
            commands: fc.array(commandArbitrary, { minLength: 1, maxLength: 12 }),
          }),
        },
        {
          weight: 3,
          arbitrary: fc.record({ do: fc.constant('project' as const), events: fc.integer({ min: 1, max: 9 }) }),
        },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
      ),
      { maxLength: 14 },
    );

    test('through commands, projector steps and restarts, lists are the fold of the log and the read model is that up to its checkpoint', async () => {
      await fc.assert(
        fc.asyncProperty(operations, async (run) => {
          const opened = await open();
          const other = await opened.second();
          let log = await openLog(withoutProjector(opened.store), quiet);
          const acknowledged: LoggedEvent[] = [];
          try {
            for (const operation of run) {
              if (operation.do === 'submit') {
                const outcomes = await submitAll(log, operation.commands);
                acknowledged.push(
                  ...outcomes.filter((outcome): outcome is LoggedEvent => !(outcome instanceof PlantStoreError)),
                );
              } else if (operation.do === 'project') await project(other, operation.events);
              else {
                await log.close();
                log = await openLog(withoutProjector(await opened.reopen()), quiet);
              }
              const events = await readLog(other);
              verifyLog(events);
              expect(events.map(plain)).toEqual(acknowledged.toSorted((a, b) => a.position - b.position).map(plain));
              await expectHeadViewIsFold(log, events);
              for (const owner of owners) {
                const { rows, position } = await readModel(other, owner);
                expect(rows).toEqual(fold(events.slice(0, position)).get(owner) ?? []);
              }
            }
          } finally {
            await log.close();
            await opened.cleanup();
          }
        }),
        { numRuns: count(6, 500) },
      );
    });

    const faults: fc.Arbitrary<Fault> = fc.oneof(
      { weight: 3, arbitrary: fc.constant({ kind: 'none' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'request lost' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'reply lost' as const }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('prefix landed' as const), events: fc.integer({ min: 1, max: 5 }) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('late copy' as const), milliseconds: fc.integer({ min: 0, max: 8 }) }),
      },
    );

    test('two instances under faults of every append: an acknowledged command is in the log once, a refused one never', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(faults, { minLength: 1, maxLength: 30 }),
          fc.array(commandArbitrary, { minLength: 10, maxLength: 60 }),
          async (script, commands) => {
            const opened = await open();
            let calls = 0;
            const next = (): Fault => script[calls++] ?? { kind: 'none' };
            // A name of its own for each command tells which event is whose; a deleted one is told by its actor.
            const marked = commands.map((command, index): Command => {
              const actor = `command ${index}`;
              return { ...command, actor };
            });
            const logs = [
              await openLog(withFaults(opened.store, next), quiet),
              await openLog(withFaults(await opened.second(), next), quiet),
            ];
            const checker = await opened.second();
            try {
              const halves = [
                marked.filter((_, index) => index % 2 === 0),
                marked.filter((_, index) => index % 2 === 1),
              ];
              const outcomes = (await Promise.all(logs.map((log, index) => submitAll(log, halves[index]!)))).flat();
              const actors = halves.flat().map(({ actor }) => actor);
              await expectSettled(checker, actors, outcomes);
              const events = await readLog(checker);
              for (const log of logs) await expectHeadViewIsFold(log, events);
            } finally {
              for (const log of logs) await log.close();
              await opened.cleanup();
            }
          },
        ),
        { numRuns: count(8, 500) },
      );
    });

    async function expectSettled(store: Store, actors: readonly string[], outcomes: readonly Outcome[]): Promise<void> {
      const events = await readLog(store);
      verifyLog(events);
      fold(events);
      const positions = new Map<string, number[]>();
      for (const { event, position } of events)
        positions.set(event.actor, [...(positions.get(event.actor) ?? []), position]);
      outcomes.forEach((outcome, index) => {
        const logged = positions.get(actors[index]!) ?? [];
        if (!(outcome instanceof PlantStoreError)) expect(logged).toEqual([outcome.position]);
        else if (outcome.reason === 'OUTCOME_UNKNOWN') expect(logged.length).toBeLessThanOrEqual(1);
        else expect([outcome.reason, logged]).toEqual([outcome.reason, []]);
      });
    }

    test('a store that is out of reach: commands are given up in time and not applied, or are said to be unknown', async () => {
      const opened = await open();
      const lost = withFaults(opened.store, () => ({ kind: 'request lost' }));
      const log = await openLog(lost, { ...quiet, limits: { commitLimit: 3_000 } });
      const outcome = await log
        .submit({ type: 'DeletePlant', owner: 'a', actor: 'a', id: 1n })
        .catch((error) => error.reason);
      expect(outcome).toBe('PLANT_NOT_FOUND');
      const unknown = await log
        .submit({ type: 'AddPlant', owner: 'a', actor: 'a', plant: { id: 1n, name: 'Fern', tag: undefined } })
        .catch((error) => error.reason);
      expect(unknown).toBe('OUTCOME_UNKNOWN');
      await log.close();
      await opened.cleanup();
    });

    test.each([
      [
        'at once',
        [refusedAppend],
        'STORE_UNAVAILABLE',
        'not applied: the disk is full; tell the operator, and try again later',
      ],
      [
        'in time, after an append whose outcome is unknown',
        [new Error('lost'), refusedAppend],
        'OUTCOME_UNKNOWN',
        /unknown/,
      ],
    ] as const)(
      'a store that refuses an append certainly: its commands are answered %s',
      async (_, faults, reason, message) => {
        const opened = await open();
        let appends = 0;
        const refusing = override(opened.store, {
          append: async () => Promise.reject(faults[Math.min(appends++, faults.length - 1)]),
        });
        const log = await openLog(refusing, { ...quiet, limits: { commitLimit: 1_000 } });
        const add = () =>
          log.submit({ type: 'AddPlant', owner: 'a', actor: 'a', plant: { id: 1n, name: 'Fern', tag: undefined } });
        await expect(add()).rejects.toMatchObject({ reason, message: expect.stringMatching(message) });
        if (reason === 'STORE_UNAVAILABLE') expect(appends).toBe(1);
        await log.close();
        await opened.cleanup();
      },
    );

    test('a command that its caller gives up is not applied once it has to wait, and is applied once it is being appended', async () => {
      const opened = await open();
      const [begun, gate, read] = [0, 0, 0].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate];
      let reads = 0;
      const store = override(opened.store, {
        append: async (events) => {
          begun.resolve();
          await gate.promise;
          return opened.store.append(events);
        },
        get: async (keys) => {
          const rows = await opened.store.get(keys);
          if (++reads === 2) read.resolve();
          return rows;
        },
      });
      const log = await openLog(store, quiet);
      const callers = [new AbortController(), new AbortController()];
      const add = (id: number) =>
        log.submit(
          { type: 'AddPlant', owner: 'a', actor: 'a', plant: { id: BigInt(id), name: '', tag: undefined } },
          callers[id]!.signal,
        );
      const appended = add(0);
      await begun.promise;
      const waiting = add(1);
      // Its keys are read, and it waits for the append before it.
      await read.promise;
      await turn();
      for (const caller of callers) caller.abort();
      gate.resolve();
      await expect(waiting).rejects.toMatchObject({ reason: 'CANCELLED' });
      expect((await appended).position).toBe(1);
      expect(await readLog(opened.store)).toHaveLength(1);
      await log.close();
      await opened.cleanup();
    });

    test('what waits is bounded: beyond the bound a command is refused at once and the others are answered', async () => {
      const opened = await open();
      const log = await openLog(opened.store, { ...quiet, limits: { queue: 10 } });
      const commands = Array.from({ length: 30 }, (_, index): Command => {
        return { type: 'AddPlant', owner: 'a', actor: 'a', plant: { id: BigInt(index), name: '', tag: undefined } };
      });
      const outcomes = await submitAll(log, commands);
      const refused = outcomes.filter((outcome) => outcome instanceof PlantStoreError);
      expect(refused.map(({ reason, details }) => [reason, details.retryAfter])).toEqual(
        Array(20).fill(['OVERLOADED', 1]),
      );
      expect(outcomes.slice(0, 10).every((outcome) => !(outcome instanceof PlantStoreError))).toBe(true);
      await log.close();
      await opened.cleanup();
    });

    test('the tail is bounded: while no projector runs commands go on up to the bound, then 503, and go on again after a projection', async () => {
      const opened = await open();
      const other = await opened.second();
      const log = await openLog(withoutProjector(opened.store), { ...quiet, limits: { tailBytes: TAIL_BYTES } });
      const add = (id: number): Promise<Outcome[]> =>
        submitAll(log, [
          { type: 'AddPlant', owner: 'a', actor: 'a', plant: { id: BigInt(id), name: '', tag: undefined } },
        ]);
      let id = 0;
      while (log.status.tail.bytes < TAIL_BYTES) expect((await add(id))[0]).toMatchObject({ position: ++id });
      expect((await add(id))[0]).toMatchObject({ reason: 'OVERLOADED' });
      expect(await collect(await log.list({ owner: 'a', after: undefined, limit: undefined }))).toHaveLength(id);
      await project(other, id);
      // A list that is read anew hears of the new checkpoint.
      expect(await collect(await log.list({ owner: 'a', after: undefined, limit: id }))).toHaveLength(id);
      expect((await add(id))[0]).toMatchObject({ position: id + 1 });
      await log.close();
      await opened.cleanup();
    });

    test('a long list is as of one position while others add and delete', async () => {
      const opened = await open();
      const log = await openLog(opened.store, quiet);
      const plants = 5_000;
      const add = (id: number): Command => ({
        type: 'AddPlant',
        owner: 'a',
        actor: 'a',
        plant: { id: BigInt(id), name: `${id}`, tag: undefined },
      });
      await submitAll(
        log,
        Array.from({ length: plants }, (_, id) => add(2 * id)),
      );
      const list = await log.list({ owner: 'a', after: undefined, limit: undefined });
      const cutList = await log.list({ owner: 'a', after: 9n, limit: plants - 10 });
      await submitAll(
        log,
        Array.from(
          { length: plants },
          (_, id): Command => ({ type: 'DeletePlant', owner: 'a', actor: 'a', id: BigInt(2 * id) }),
        ),
      );
      await submitAll(
        log,
        Array.from({ length: 100 }, (_, id) => add(2 * id + 1)),
      );
      const even = Array.from({ length: plants }, (_, id) => BigInt(2 * id));
      expect((await collect(list)).map(({ id }) => id)).toEqual(even);
      expect((await collect(cutList)).map(({ id }) => id)).toEqual(even.slice(5, plants - 5));
      expect(cutList.next).toBe(even[plants - 6]);
      await log.close();
      await opened.cleanup();
    });
  });
}
