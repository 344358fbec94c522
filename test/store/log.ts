import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/domain/decider.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { RefusedAppendError } from '../../src/log/store.ts';
import { added, append, project } from '../support/events.ts';
import { override, withoutProjector } from '../support/faulty-store.ts';
import { collect, readLog } from '../support/fold.ts';
import type { OpenStore } from './open-store.ts';

/** Bytes of some forty events in the tail. */
const TAIL_BYTES = 60_000;

type Outcome = LoggedEvent | PlantStoreError;
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

/** Every command at once, each of which is accepted. */
async function applyAll(log: EventLog, commands: readonly Command[]): Promise<void> {
  const outcomes = await submitAll(log, commands);
  expect(outcomes.filter((outcome) => outcome instanceof PlantStoreError)).toEqual([]);
}

const quiet = { onFault: () => {} };

const refusedAppend = new RefusedAppendError('the disk is full', {});

/** What the log built on any store has to keep. */
export function logContract(name: string, open: OpenStore): void {
  describe(`event log on ${name}`, () => {
    test('a store that is out of reach: commands are given up in time and not applied, or are said to be unknown', async () => {
      const opened = await open();
      const lost = override(opened.store, { append: () => Promise.reject(new Error('the request is lost')) });
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

    test('a store that refuses an event of a batch: the commands before it are applied, and the rest refused at once', async () => {
      const opened = await open();
      const isRefused = ({ content }: LoggedEvent) => Buffer.from(content!).includes('Nettle');
      const refusing = override(opened.store, {
        append: (events) => {
          const first = events.findIndex(isRefused);
          if (first === 0) return Promise.reject(refusedAppend);
          return opened.store.append(first === -1 ? events : events.slice(0, first));
        },
      });
      const log = await openLog(refusing, quiet);
      const names = ['Fern', 'Fern', 'Nettle', 'Fern'];
      const outcomes = await submitAll(
        log,
        names.map((name, id) => ({
          ...{ type: 'AddPlant', owner: 'a', actor: 'a' },
          plant: { id: BigInt(id), name, tag: undefined },
        })),
      );
      expect(outcomes.map((outcome) => (outcome instanceof PlantStoreError ? outcome.reason : outcome))).toEqual([
        expect.objectContaining({ position: 1 }),
        expect.objectContaining({ position: 2 }),
        ...['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
      ]);
      expect(await readLog(opened.store)).toHaveLength(2);
      await log.close();
      await opened.cleanup();
    });

    test('a command that waits behind an append without an answer is given up by its own limit', async () => {
      const opened = await open();
      const unanswered = override(opened.store, { append: () => Promise.reject(new Error('no answer')) });
      const log = await openLog(unanswered, { ...quiet, limits: { commitLimit: 1_000 } });
      const add = (id: bigint) =>
        log.submit({ type: 'AddPlant', owner: 'a', actor: 'a', plant: { id, name: 'Fern', tag: undefined } });
      const first = expect(add(1n)).rejects.toMatchObject({ reason: 'OUTCOME_UNKNOWN' });
      await sleep(500);
      const begun = performance.now();
      await expect(add(2n)).rejects.toThrow();
      expect(performance.now() - begun).toBeLessThan(1_450);
      await first;
      await log.close();
      await opened.cleanup();
    });

    test('a command that its caller gives up is not applied until it is decided, and is applied once it is being appended', async () => {
      const opened = await open();
      const callers = [new AbortController(), new AbortController()] as const;
      let reads = 0;
      const store = override(opened.store, {
        append: (events) => {
          callers[0].abort();
          return opened.store.append(events);
        },
        get: async (keys) => {
          const rows = await opened.store.get(keys);
          if (++reads === 2) callers[1].abort();
          return rows;
        },
      });
      const log = await openLog(store, quiet);
      const add = (id: 0 | 1) =>
        log.submit(
          { type: 'AddPlant', owner: 'a', actor: 'a', plant: { id: BigInt(id), name: '', tag: undefined } },
          callers[id].signal,
        );
      expect((await add(0)).position).toBe(1);
      await expect(add(1)).rejects.toMatchObject({ reason: 'CANCELLED' });
      expect(callers.map(({ signal }) => signal.aborted)).toEqual([true, true]);
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

    test('an instance that was cut off for long holds no more of what it missed than the bound, and then knows it all', async () => {
      const opened = await open();
      const other = await opened.second();
      let isCutOff = false;
      let most = 0;
      const store = override(opened.store, {
        lease: async () => false,
        head: () => (isCutOff ? Promise.reject(new Error('cut off')) : opened.store.head()),
        async *read(...range) {
          for await (const batch of opened.store.read(...range)) {
            yield batch;
            most = Math.max(most, log.status.tail.bytes);
          }
        },
      });
      const log: EventLog = await openLog(store, { ...quiet, limits: { tailBytes: TAIL_BYTES } });
      let outdated = 0;
      log.onRowsOutdated(() => outdated++);
      await append(other, added('a', 0n));
      expect((await log.head()).position).toBe(1);
      isCutOff = true;
      const missed = 3_000;
      await append(other, ...Array.from({ length: missed }, (_, id) => added('a', BigInt(id + 1))));
      await project(other, missed - 2);
      isCutOff = false;
      expect((await log.head()).position).toBe(missed + 1);
      // One read of the store beyond the bound.
      expect(most).toBeLessThan(20 * TAIL_BYTES);
      expect(log.status).toMatchObject({ checkpoint: missed - 2, tail: { events: 3 } });
      expect(outdated).toBe(1);
      const list = await log.list({ owner: 'a', after: BigInt(missed - 10), limit: undefined });
      expect(await collect(list)).toHaveLength(10);
      await log.close();
      await opened.cleanup();
    });

    test('a tail that is full lets go of what another instance has projected meanwhile, and its readers go on', async () => {
      const opened = await open();
      const other = await opened.second();
      const log = await openLog(withoutProjector(opened.store), { ...quiet, limits: { tailBytes: TAIL_BYTES } });
      let outdated = 0;
      log.onRowsOutdated(() => outdated++);
      for (let end = 0; end < 400; end += 40) {
        await append(other, ...Array.from({ length: 40 }, (_, id) => added('a', BigInt(end + id))));
        await log.head();
        await project(other);
      }
      await append(other, added('a', 400n));
      await log.head();
      expect(log.status.tail.events).toBeLessThan(100);
      expect(outdated).toBe(0);
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
      await applyAll(
        log,
        Array.from({ length: plants }, (_, id) => add(2 * id)),
      );
      const list = await log.list({ owner: 'a', after: undefined, limit: undefined });
      const cutList = await log.list({ owner: 'a', after: 9n, limit: plants - 10 });
      await applyAll(
        log,
        Array.from(
          { length: plants },
          (_, id): Command => ({ type: 'DeletePlant', owner: 'a', actor: 'a', id: BigInt(2 * id) }),
        ),
      );
      await applyAll(
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
