import { create } from '@bufbuild/protobuf';
import { describe, expect, test, vi } from 'vitest';
import { ReadEventsRequestSchema } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { plantsAsOf } from '../../src/audit/fold/as-of.ts';
import { FORMATS } from '../../src/audit/formats/formats.ts';
import { getHistory, readEvents } from '../../src/audit/service.ts';
import { eventsOfOwner, exportedEvents } from '../../src/audit/steady.ts';
import type { Erased } from '../../src/log/erasure/eraser.ts';
import { seal } from '../../src/log/event/chain.ts';
import { encodeEvent } from '../../src/log/event/encode.ts';
import { type LoggedEvent, plantEventOf } from '../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import type { Selection, Store } from '../../src/log/store.ts';
import { added, append, deleted, NO_NODES, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { collect, readAnyLog, verifyLog } from '../support/fold.ts';
import { withoutContent } from '../support/tampering.ts';
import { checkpointOf } from '../support/tree.ts';
import { verdictOf } from './audit-tampering.ts';
import { type OpenedStore, withStore } from './open-store.ts';

/** Words that occur nowhere else, all of one owner. */
export const WORDS = ['Xaviera-Quux', 'acts-for-Quux', 'Zantedeschia', 'moonlit-tag', 'quux-key-77', 'issuer-of-quux'];
const [OWNER, ACTOR, NAME, TAG, KEY, ISSUER] = WORDS as [string, string, string, string, string, string];

const quiet = { onFault: () => {} };

/** An empty store, its database to tamper with, and every byte or document that it keeps, as text. */
export type OpenSearchable = () => Promise<OpenedStore & { everything(): Promise<string> }>;

/**
 * Fills a log with the events of the owner of WORDS among those of others. Returns the number of the owner's events.
 */
async function fill(store: Store): Promise<number> {
  const own = { owner: OWNER, actor: ACTOR, issuer: ISSUER };
  for (let round = 0; round < 6; round++) {
    const id = BigInt(round * 100);
    const others = Array.from({ length: 40 }, (_, index) => added(`other ${index % 7}`, id + BigInt(index)));
    const keyed = (plantId: bigint, key: string) =>
      ({ ...added(OWNER, plantId, `${NAME} ${plantId}`, TAG), ...own, idempotencyKey: `${KEY}-${key}` }) as const;
    await append(
      store,
      ...others.slice(0, 20),
      keyed(id, `${round}`),
      ...others.slice(20),
      keyed(id + 1n, `${round}b`),
      {
        ...deleted(OWNER, id),
        ...own,
      },
    );
  }
  await project(store);
  return 18;
}

/** Erases the owner of WORDS, or another one; the log is open meanwhile. */
export async function eraseWords(log: EventLog, owner = OWNER): Promise<Erased> {
  for await (const step of log.erase({ owner, actor: 'operator' })) if (!('step' in step)) return step;
  throw new Error('no outcome');
}

async function outcomeOf(log: EventLog, key: Uint8Array): Promise<Erased> {
  for await (const step of log.erase({ owner: OWNER, actor: 'operator', key })) if (!('step' in step)) return step;
  throw new Error('no outcome');
}

async function erased(store: Store, owner = OWNER): Promise<Erased> {
  const log = await openLog(override(store, { close: async () => {} }), quiet);
  try {
    return await eraseWords(log, owner);
  } finally {
    await log.close();
  }
}

/** What an erasure must not change of an event. */
const frame = ({ position, eventId, time, type, commitment, hash }: LoggedEvent) => ({
  ...{ position, eventId, time, type },
  commitment: Buffer.from(commitment).toString('hex'),
  hash: Buffer.from(hash).toString('hex'),
});

/** What every store has to keep when an owner is erased. */
export function erasureContract(name: string, open: OpenSearchable): void {
  const on = withStore(open);

  describe(`erasure on ${name}`, () => {
    test(
      'a repeated call with the key of an erasure returns its outcome, and erases nothing of the next life',
      on(async ({ store }) => {
        const events = await fill(store);
        const log = await openLog(override(store, { close: async () => {} }), quiet);
        const key = new Uint8Array(16).fill(7);
        const call = async (owner = OWNER) => {
          const steps: unknown[] = [];
          for await (const step of log.erase({ owner, actor: 'operator', key })) steps.push(step);
          return steps;
        };
        const first = await call();
        const { position } = first.at(-1) as Erased;
        expect(first).toContainEqual({ step: 'read_model', appended: { position, key } });
        expect(first.at(-1)).toEqual({ position, events, key });
        const plant = { id: 1n, name: 'Anew', tag: undefined };
        await log.submit({ type: 'AddPlant', owner: OWNER, actor: OWNER, plant });
        expect((await call()).at(-1)).toEqual({ position, events, key });
        expect((await store.head()).position).toBe(position! + 1);
        expect(await collect(await log.list({ owner: OWNER, after: undefined, limit: undefined }))).toEqual([plant]);
        // The key is of this owner alone.
        expect((await call('nobody')).at(-1)).toEqual({ position: undefined, events: 0, key: undefined });
        await log.close();
      }),
    );

    test(
      'who reads the log slowly gets nothing of an owner once the outcome was given',
      on(async ({ store }) => {
        // One read of the store, and more than one batch.
        await append(store, ...Array.from({ length: 250 }, (_, id) => added(OWNER, BigInt(id))));
        await project(store);
        const log = await openLog(override(store, { close: async () => {} }), quiet);
        const reading = log.read(0);
        const next = async () => ((await reading.next()).value as LoggedEvent[]).map(({ event }) => event?.type);
        expect(await next()).toEqual(Array(200).fill('PlantAdded'));
        await eraseWords(log);
        expect(await next()).toEqual(Array(50).fill(undefined));
        expect((await reading.next()).done).toBe(true);
        await log.close();
      }),
    );

    test(
      'who reads the history of a plant slowly gets nothing of it once the outcome was given',
      on(async ({ store }) => {
        await append(store, ...Array.from({ length: 250 }, (_, id) => (id % 2 ? deleted : added)(OWNER, 1n)));
        await project(store);
        const reading = getHistory(store, OWNER, 1n, AbortSignal.timeout(60_000));
        expect((await reading.next()).value).toMatchObject({ records: { length: 200 } });
        await erased(store);
        await expect(reading.next()).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
      }),
    );

    test(
      'while another instance finishes an erasure, its caller is told that it goes on, and may leave',
      on(async ({ store }) => {
        await fill(store);
        const log = await openLog(override(store, { close: async () => {} }), quiet);
        expect(await store.lease('erasure', 'another instance', 60_000)).toBe(true);
        let rounds = 0;
        for await (const step of log.erase({ owner: OWNER, actor: 'operator' }))
          if ('step' in step && step.step === 'contents' && ++rounds === 3) break;
        expect(await store.unfinished()).toHaveLength(1);
        await store.lease('erasure', 'another instance', 0);
        expect(await eraseWords(log)).toMatchObject({ events: 18 });
        await log.close();
      }),
    );

    test(
      "an erasure that names another owner than its event erased removes nothing, and is in nobody else's way",
      on(async ({ store }) => {
        await fill(store);
        const { position } = await erased(store);
        const erases = { owner: 'other 1', key: new Uint8Array(16), isCleared: false, isPublished: false };
        const changed = { ...(await readAnyLog(store)).at(position! - 1)!, erases };
        const unfinished = async () => [...(await store.unfinished()), changed];
        const log = await openLog(override(store, { close: async () => {}, unfinished }), quiet);
        const stuck = await new Promise<unknown>((resolve) => log.finishErasures(resolve));
        expect(String(stuck)).toContain('its subject does not match the owner that the store keeps for it');
        await expect(eraseWords(log, 'other 1')).rejects.toThrow('its subject does not match');
        expect(await eraseWords(log, 'other 2')).toMatchObject({ events: 36 });
        // Who reads the log sees what it says.
        const seen: LoggedEvent[] = [];
        for await (const batch of exportedEvents(override(store, { unfinished }), 0, position!)) seen.push(...batch);
        expect(seen.filter((event) => plantEventOf(event)?.owner === 'other 1')).toHaveLength(36);
        await log.close();
        const left = (await readAnyLog(store)).filter((event) => plantEventOf(event)?.owner === 'other 1');
        expect(left).toHaveLength(36);
      }),
    );

    test(
      'rows that a repair puts back before the step of the erasure go too',
      on(async ({ store }) => {
        await fill(store);
        let isBack = false;
        const repaired = override(store, {
          close: async () => {},
          async advance(from, ...step) {
            const isDone = await store.advance(from, ...step);
            const inserts = [{ owner: OWNER, id: 1n, name: NAME, tag: TAG }];
            if (isDone === undefined && !isBack && (await store.list(OWNER, undefined, 1)).rows.length === 0)
              isBack = (await store.advance(from, from, { deletes: [], inserts }, NO_NODES)) === true;
            return isDone;
          },
        });
        const log = await openLog(repaired, quiet);
        expect(await eraseWords(log)).toMatchObject({ events: 18 });
        await log.close();
        expect(isBack).toBe(true);
        expect((await store.list(OWNER, undefined, 10)).rows).toEqual([]);
      }),
    );

    test.each([
      ['the rest alone', async () => {}, false],
      ['all anew after an erasure', async (log: EventLog) => void (await eraseWords(log, 'other 1')), true],
    ])('a count that the writer cannot complete goes on, and counts %s', async (_, during, isAnew) => {
      const opened = await open();
      const { store } = opened;
      const events = await fill(store);
      const [counts, end] = [[] as number[], (await store.head()).position];
      const other = await openLog(await opened.second(), quiet);
      const meanwhile = async () => {
        await during(other);
        for (let id = 5_000n; id < 5_003n; id++)
          await other.submit({ type: 'AddPlant', owner: OWNER, actor: OWNER, plant: { id, name: NAME, tag: TAG } });
        const { position } = await log.head();
        // Then it has none of these events in memory.
        await expect.poll(() => log.status.checkpoint).toBe(position);
      };
      const counting = override(store, {
        close: async () => {},
        async *read(after, only) {
          if (only?.owner === undefined && after === 0) throw new Error('the whole log is read');
          yield* store.read(after, only);
          if (only?.owner === undefined) return;
          if (counts.length === 0) await meanwhile();
          counts.push(after);
        },
      });
      const log = await openLog(counting, { ...quiet, limits: { recentBytes: 0 } });
      expect((await outcomeOf(log, new Uint8Array(16).fill(9))).events).toBe(events + 3);
      expect(counts).toEqual(isAnew ? [0, 0] : [0, end]);
      await Promise.all([log.close(), other.close()]);
      expect((await verdictOf(store)).places).toEqual({});
      await opened.cleanup();
    });

    test(
      'audit verify says yes at every step of an erasure, and no to a row of another owner that is lost then',
      on(async ({ store }) => {
        await fill(store);
        await append(store, added('carol', 1n));
        await project(store);
        const answers: string[] = [];
        const watched =
          <Args extends unknown[], Result>(step: string, run: (...args: Args) => Promise<Result>) =>
          async (...args: Args) => {
            const result = await run(...args);
            const { verdict } = await verdictOf(store, {});
            answers.push(`${step}: ${verdict.ok}`);
            return result;
          };
        const advance = watched('rows', (...step: Parameters<Store['advance']>) => store.advance(...step));
        const verify = watched('contents', async () => {});
        const clearErased = async function* (positions: readonly number[]) {
          for await (const _ of store.clearErased(positions)) yield await verify();
          await verify();
        };
        const endErasures = watched('end', (...of: Parameters<Store['endErasures']>) => store.endErasures(...of));
        await erased(override(store, { advance, clearErased, endErasures }));
        expect([...new Set(answers)]).toEqual(['rows: true', 'contents: true', 'end: true']);
        const { position } = await store.head();
        const again = seal(await store.head(), { type: 'OwnerErased', actor: 'operator', erased: 1 }, 'again', 0);
        const erases = { owner: OWNER, key: new Uint8Array(), isCleared: false, isPublished: false };
        await store.append([{ ...again, erases }]);
        const changes = { deletes: [], inserts: [], erased: 'carol' };
        expect(await store.advance(position, position + 1, changes, NO_NODES)).toBeUndefined();
        const { places } = await verdictOf(store, {});
        expect(places).toMatchObject({ read_model: expect.anything() });
      }),
    );

    test(
      'nothing that names the owner is left anywhere, and every event stays as it was',
      on(async (opened) => {
        const events = await fill(opened.store);
        const before = await readAnyLog(opened.store);
        const known = await opened.everything();
        const checkpoint = checkpointOf(before);
        for (const word of WORDS) expect([word, known.includes(word)]).toEqual([word, true]);
        const key = Buffer.from(await opened.store.ownerKey());
        const hasKey = (text: string) =>
          [key.toString('latin1'), key.toString('base64')].some((form) => text.includes(form));
        expect(hasKey(await opened.everything())).toBe(true);

        const outcome = await erased(opened.store);
        expect(outcome.events).toBe(events);
        expect(outcome.position).toBe(before.length + 1);
        expect(outcome.key).toHaveLength(16);
        const after = await readAnyLog(opened.store);
        expect(after.slice(0, before.length).map(frame)).toEqual(before.map(frame));
        expect(after.map((event) => Buffer.from(encodeEvent(event)).toString('hex')).slice(0, before.length)).toEqual(
          before.map((event) => Buffer.from(encodeEvent(event)).toString('hex')),
        );
        verifyLog(after);
        expect(after.filter(({ erasedBy }) => erasedBy === outcome.position)).toHaveLength(outcome.events);
        const { verdict, places } = await verdictOf(opened.store, { checkpoint });
        expect(places).toEqual({});
        expect(verdict.ok).toBe(true);
        const text = await opened.everything();
        for (const word of WORDS) expect([word, text.includes(word)]).toEqual([word, false]);
        // Whoever kept the service's log cannot find the owner in it by trying names.
        expect(hasKey(text)).toBe(false);
        for (const format of Object.values(FORMATS)) {
          const exported = Buffer.from(format.encode(after)).toString('latin1');
          for (const word of WORDS) expect(exported.includes(word)).toBe(false);
        }
        const asOf = await plantsAsOf(opened.store, { position: before.length }, OWNER);
        for await (const rows of asOf.plants) expect(rows).toEqual([]);
        expect(await opened.store.unfinished()).toEqual([]);
        // Again there is nothing to do, and nothing is appended.
        expect(await erased(opened.store)).toEqual({ position: undefined, events: 0, key: undefined });
        expect((await opened.store.head()).position).toBe(outcome.position);
      }),
    );

    test(
      'who reads the events of an owner while an erasure begins and ends never takes the first of them for all',
      on(async ({ store }) => {
        const history = async (from: Store) => {
          const positions: number[] = [];
          for await (const events of eventsOfOwner(from, { owner: OWNER, id: 1n }))
            positions.push(...events.map(({ position }) => position));
          return positions;
        };
        /** A store on which the owner is erased once when the events up to a position were read. */
        const erasing = (half: number) => {
          let isErased = false;
          async function* inHalves(after: number, only: Selection) {
            yield* store.read(after, { ...only, to: half });
            if (!isErased) await erased(store);
            isErased = true;
            yield* store.read(half, only);
          }
          const read: Store['read'] = (after, only = {}) =>
            only.owner === OWNER && only.erasures === undefined ? inHalves(after, only) : store.read(after, only);
          return override(store, { read });
        };
        await append(store, added(OWNER, 1n), added('bob', 1n), deleted(OWNER, 1n));
        const { plants } = await plantsAsOf(erasing(2), { position: 3 }, OWNER);
        for await (const rows of plants) expect(rows).toEqual([]);
        expect(await history(store)).toEqual([]);
        await append(store, added(OWNER, 1n), deleted(OWNER, 1n));
        expect(await history(store)).toEqual([5, 6]);
        await expect(history(erasing(5))).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
      }),
    );

    test(
      'who reads the plants as of a moment slowly gets none of an owner who was erased since',
      on(async ({ store }) => {
        // More than the fold, and a message, has at once.
        const others = Array.from({ length: 2_100 }, (_, index) => added('bob', BigInt(index)));
        for (let from = 0; from < others.length; from += 700) await append(store, ...others.slice(from, from + 700));
        await append(store, added(OWNER, 1n));
        const readers = await Promise.all(
          [undefined, OWNER, 'bob'].map(async (owner) => {
            const { plants } = await plantsAsOf(store, undefined, owner);
            return plants;
          }),
        );
        const [all, own, bobs] = readers as [(typeof readers)[0], (typeof readers)[0], (typeof readers)[0]];
        expect((await all.next()).value).toHaveLength(200);
        expect((await bobs.next()).value).toHaveLength(200);
        await erased(store);
        const later = performance.now() + 60_000;
        using _clock = vi.spyOn(performance, 'now').mockReturnValue(later);
        await expect(all.next()).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
        expect((await own.next()).done).toBe(true);
        await expect(bobs.next()).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
      }),
    );

    test.each([
      ['ReadEvents of one owner', { owner: OWNER }],
      ['ReadEvents of one owner that goes on', { owner: OWNER, follow: true }],
      ['ReadEvents of one plant that goes on', { plantId: 1n, follow: true }],
    ])('%s while an erasure begins and ends never takes the first of them for all', (_, request) =>
      on(async ({ store }) => {
        await append(store, added(OWNER, 1n), added('bob', 1n), deleted(OWNER, 1n));
        const signal = new AbortController().signal;
        async function* inHalves() {
          yield* store.read(0, { to: 2 });
          await erased(store);
          yield* store.read(2);
        }
        const log = { read: inHalves, head: () => store.head() } as unknown as EventLog;
        const records = readEvents(log, store, create(ReadEventsRequestSchema, request), signal);
        const read = async () => {
          for await (const { position } of records) expect(position).toBe(2n);
        };
        await expect(read()).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
      })(),
    );

    /** The positions of what ReadEvents of the owner sends of such a log. */
    async function positionsOf(store: Store, read: () => AsyncIterable<readonly LoggedEvent[]>): Promise<number[]> {
      const log = { read, head: () => store.head() } as unknown as EventLog;
      const request = create(ReadEventsRequestSchema, { owner: OWNER });
      const positions: number[] = [];
      for await (const { records } of readEvents(log, store, request, new AbortController().signal))
        positions.push(...records.map(({ event }) => Number(event!.position)));
      return positions;
    }

    test(
      'ReadEvents of one owner goes on while the contents of others are removed',
      on(async ({ store }) => {
        await append(store, added(OWNER, 1n), added('bob', 1n), added('eve', 1n), deleted(OWNER, 1n));
        const erasing = (owner: string, from: number) =>
          positionsOf(store, async function* () {
            if (from > 0) yield* store.read(0, { to: from });
            await erased(store, owner);
            yield* store.read(from);
          });
        expect(await erasing('bob', 1)).toEqual([1, 4]);
        expect(await erasing('eve', 0)).toEqual([1, 4]);
      }),
    );

    test(
      'ReadEvents of one owner never takes what an erasure has left so far for all',
      on(async ({ store }) => {
        const [first, second] = await append(store, added(OWNER, 1n), deleted(OWNER, 1n));
        const reading = positionsOf(store, async function* () {
          const { position } = await erased(store);
          yield [withoutContent(first!, position!)];
          yield [second!];
        });
        await expect(reading).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
      }),
    );

    test(
      'ReadEvents that goes on ends at the erasure of whom it has sent, and of nobody else',
      on(async (opened) => {
        const log = await openLog(await opened.second(), quiet);
        const add = (owner: string, id: bigint) =>
          log.submit({ type: 'AddPlant', owner, actor: owner, plant: { id, name: 'Fern', tag: undefined } });
        const { signal } = new AbortController();
        const request = create(ReadEventsRequestSchema, { owner: OWNER, follow: true });
        const records = readEvents(log, opened.store, request, signal);
        const next = async (position: bigint) => {
          for (let at = 0n; at < position; ) at = (await records.next()).value!.position;
        };
        try {
          await add(OWNER, 1n);
          await add('bob', 1n);
          await next(2n);
          await eraseWords(log, 'bob');
          await add(OWNER, 2n);
          await next(4n);
          const start = { case: 'afterPosition', value: 4n } as const;
          const resumed = readEvents(log, opened.store, create(ReadEventsRequestSchema, { ...request, start }), signal);
          const rest = expect(resumed.next()).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
          await eraseWords(log);
          await add(OWNER, 1n);
          await expect(next(6n)).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
          await rest;
        } finally {
          await log.close();
        }
      }),
    );

    test(
      'a retry at an instance that met nothing of an erasure is a command of the next life',
      on(async (opened) => {
        let isAway = false;
        const store = await opened.second();
        const away = override(store, {
          head: async () => (isAway ? Promise.reject(new Error('away')) : store.head()),
          generation: async () => (isAway ? Promise.reject(new Error('away')) : store.generation()),
          lease: async () => false,
        });
        const [log, other] = [await openLog(await opened.second(), quiet), await openLog(away, quiet)];
        const plant = { id: 1n, name: NAME, tag: TAG };
        const add = { type: 'AddPlant', owner: OWNER, actor: OWNER, plant, idempotencyKey: KEY } as const;
        expect(await other.submit(add)).toMatchObject({ position: 1 });
        expect(await other.submit(add)).toMatchObject({ position: 1, replayed: true });
        isAway = true;
        expect(await eraseWords(log)).toMatchObject({ position: 2, events: 1 });
        isAway = false;
        expect(await other.submit(add)).toMatchObject({ position: 3 });
        await Promise.all([log.close(), other.close()]);
      }),
    );

    test(
      'a store that fails is no erasure that cannot go on, unless there is one',
      on(async ({ store, second }) => {
        await fill(store);
        let [isAway, mayRemove] = [true, true];
        const failing = override(await second(), {
          unfinished: async () => {
            if (isAway) throw new Error('the store is away');
            return store.unfinished();
          },
          eraseContents: (owner, by) => {
            if (!mayRemove) throw new Error('contents stay');
            return store.eraseContents(owner, by);
          },
        });
        const [faults, stuck]: [unknown[], unknown[]] = [[], []];
        const log = await openLog(failing, { onFault: (fault) => faults.push(fault) });
        log.finishErasures((fault) => stuck.push(fault));
        await expect.poll(() => faults.map(String)).toContain('Error: the store is away');
        expect(stuck).toEqual([]);
        [isAway, mayRemove] = [false, false];
        await expect(eraseWords(log)).rejects.toThrow('contents stay');
        await expect.poll(() => stuck.map(String)).toContain('Error: contents stay');
        mayRemove = true;
        await expect.poll(() => store.unfinished()).toEqual([]);
        await log.close();
      }),
    );
  });
}
