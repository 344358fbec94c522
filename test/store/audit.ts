import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { plantsAsOf, positionAt } from '../../src/audit/fold/as-of.ts';
import { FORMATS } from '../../src/audit/formats/formats.ts';
import { importLog } from '../../src/audit/import.ts';
import { repairReadModel } from '../../src/audit/repair.ts';
import { exportedEvents } from '../../src/audit/steady.ts';
import type { OwnerErased } from '../../src/domain/events.ts';
import { headAt, seal, subjectOf } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { openLog } from '../../src/log/log.ts';
import { RefusedAppendError, type Store } from '../../src/log/store.ts';
import { encoded } from '../support/encoded.ts';
import { added, append, deleted, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { readLog } from '../support/fold.ts';
import { withoutContent } from '../support/tampering.ts';
import { checkpointOf } from '../support/tree.ts';
import { type OpenDatabase, verdictOf } from './audit-tampering.ts';
import { withStore } from './open-store.ts';

async function drain<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function* exported(store: Store, format: keyof typeof FORMATS): AsyncGenerator<Buffer> {
  for await (const events of store.read(0)) yield Buffer.from(FORMATS[format].encode(events));
}

const exportOf = async (store: Store, format: keyof typeof FORMATS): Promise<Buffer> =>
  Buffer.concat(await drain(exported(store, format)));

/** Twelve hundred events of a few owners, a third of them deletions. */
async function fillSome(store: Store): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  for (let id = 0n; id < 400n; id += 100n) {
    const ids = Array.from({ length: 100 }, (_, index) => id + BigInt(index));
    events.push(
      ...(await append(
        store,
        ...ids.flatMap((each) => [added('alice', each), added('bob', each), deleted('bob', each)]),
      )),
    );
  }
  return events;
}

/** What the audit of every store has to keep. */
export function auditContract(name: string, open: OpenDatabase): void {
  const on = withStore(open);

  describe(`audit on ${name}`, () => {
    test(
      'a time stands for the last event of that millisecond or earlier, however many have it',
      on(async ({ store }) => {
        const [first] = await append(store, added('a', 0n));
        const times = [0, 5, 5, 5, 9, 10, 10].map((offset) => first!.time + offset);
        let head = headAt(first!);
        const events = times.map((time, index) => {
          const event = seal(head, first!.event, `${index}`, time);
          head = headAt(event);
          return event;
        });
        expect(await store.append(events)).toBe(events.length);
        const position = (offset: number) => positionAt(store, first!.time + offset);
        const offsets = [-1, 0, 1, 4, 5, 6, 8, 9, 9.5, 10, 11];
        expect(await Promise.all(offsets.map(position))).toEqual([0, 2, 2, 2, 5, 5, 5, 6, 6, 8, 8]);
      }),
    );

    test(
      'an import is refused, with nothing written, where the log is broken or the store holds another one',
      on(async ({ store, second }) => {
        const from = await open();
        const events = await fillSome(from.store);
        const imported = (batch: readonly LoggedEvent[]) =>
          drain(
            importLog(
              store,
              (async function* () {
                yield batch;
              })(),
            ),
          );
        await expect(imported(events.slice(1))).rejects.toThrow('broken at position 1');
        await expect(imported(events.with(7, encoded({ ...events[7]!, eventId: 'x' })))).rejects.toThrow(
          'broken at position 8',
        );
        const erased: OwnerErased = { type: 'OwnerErased', actor: 'operator', erased: 2 };
        const erasure = seal(headAt(events.at(-1)!), erased, randomUUID(), 0);
        await expect(
          imported([withoutContent(events[0]!, erasure.position), ...events.slice(1), erasure]),
        ).rejects.toThrow('it erased 2 events; the number of those that refer to it is 1');
        // A file that was cut off between two events.
        await expect(imported([withoutContent(events[0]!, erasure.position), ...events.slice(1)])).rejects.toThrow(
          `position 1: its content is missing, and position ${erasure.position}, to which it refers, is beyond the last event, at ${events.length}: the end was cut off`,
        );
        expect(await readLog(store)).toEqual([]);
        await append(await second(), added('alice', 0n));
        await expect(imported(events)).rejects.toThrow('another log');
        await expect(imported([])).rejects.toThrow('more than the 0 to import');
        expect(await readLog(store)).toHaveLength(1);
        await from.cleanup();
      }),
    );

    test(
      'an import says why the store refuses an event, and takes that for no other process that writes',
      on(async ({ store }) => {
        const from = await open();
        const events = await append(from.store, added('alice', 1n), added('alice', 2n), added('alice', 3n));
        const imported = (third: () => Promise<number>) => {
          const refusing = override(store, {
            append: (sent) => (sent[0]!.position === 3 ? third() : store.append(sent.slice(0, -1))),
          });
          const all = async function* () {
            yield events;
          };
          return drain(importLog(refusing, all()));
        };
        const refused = new RefusedAppendError('a validator refuses the event');
        await expect(imported(() => Promise.reject(refused))).rejects.toThrow(refused);
        expect((await store.head()).position).toBe(2);
        await expect(imported(async () => 0)).rejects.toThrow('another process writes to the store');
        await from.cleanup();
      }),
    );

    test(
      'an import goes on from the same export, and from one of before an erasure to none of after it',
      on(async ({ store }) => {
        const from = await open();
        const events = await append(from.store, added('gone', 1n, 'Secret'), added('other', 1n));
        await store.append(events);
        const erases = { owner: 'gone', key: new Uint8Array(16), isCleared: false, isPublished: false };
        const erased: OwnerErased = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) };
        await from.store.append([{ ...seal(headAt(events.at(-1)!), erased, randomUUID(), 0), erases }]);
        await drain(from.store.eraseContents('gone', 3));
        await from.store.endErasures([3], false);
        const later = await drain(exportedEvents(from.store, 0, 3));
        const all = async function* () {
          yield* later;
        };
        await expect(drain(importLog(store, all()))).rejects.toThrow(
          'the store has the content of the event at position 1, of an owner who was erased since',
        );
        expect((await store.head()).position).toBe(2);
        const other = await open();
        await append(other.store, added('alice', 1n), added('alice', 2n));
        await expect(drain(importLog(other.store, all()))).rejects.toThrow(
          'another log: its event at position 1 differs',
        );
        await other.cleanup();
        const empty = await open();
        await empty.store.append(later.flat().slice(0, 2));
        await drain(importLog(empty.store, all()));
        expect((await empty.store.head()).position).toBe(3);
        await from.cleanup();
        await empty.cleanup();
      }),
    );

    test(
      'an import that goes on finds what an erasure has removed since, also before what an earlier one had removed',
      on(async ({ store }) => {
        const from = await open();
        const events = await append(from.store, added('later', 1n, 'Secret'), added('earlier', 1n), added('other', 1n));
        let head = headAt(events.at(-1)!);
        for (const owner of ['earlier', 'later']) {
          const erases = { owner, key: new Uint8Array(16), isCleared: false, isPublished: false };
          const erased: OwnerErased = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) };
          const event = seal(head, erased, randomUUID(), 0);
          await from.store.append([{ ...event, erases }]);
          head = headAt(event);
          await drain(from.store.eraseContents(owner, head.position));
          await from.store.endErasures([head.position], false);
        }
        // As an import of an export between the two erasures leaves it that is cut off.
        await store.append([events[0]!, withoutContent(events[1]!, 4), events[2]!]);
        await expect(drain(importLog(store, exportedEvents(from.store, 0, head.position)))).rejects.toThrow(
          'the store has the content of the event at position 1, of an owner who was erased since',
        );
        await from.cleanup();
      }),
    );

    test(
      'no service starts on the beginning of a log that lacks the erasure of an owner, which an import goes on from',
      on(async ({ store, second }) => {
        const from = await open();
        const many = Array.from({ length: 2_000 }, (_, index) => added('other', BigInt(index)));
        const events = await append(from.store, added('gone', 1n), ...many);
        const erases = { owner: 'gone', key: new Uint8Array(16), isCleared: false, isPublished: false };
        const erased: OwnerErased = { type: 'OwnerErased', actor: 'operator', erased: 1, subject: subjectOf(erases) };
        await from.store.append([{ ...seal(headAt(events.at(-1)!), erased, randomUUID(), 0), erases }]);
        await drain(from.store.eraseContents('gone', 2_002));
        await from.store.endErasures([2_002], false);
        const all = (await drain(exportedEvents(from.store, 0, 2_002))).flat();
        const cut = async function* () {
          yield all.slice(0, 2_001);
          throw new Error('the pipe has ended');
        };
        await expect(drain(importLog(store, cut()))).rejects.toThrow('the pipe has ended');
        expect((await store.head()).position).toBe(2_001);
        await expect(openLog(await second(), { onFault: () => {} })).rejects.toThrow(
          'the read model is at position 0, although an owner was erased after that: if an import has ended early, repeat it',
        );
        const whole = async function* () {
          yield all;
        };
        await drain(importLog(store, whole()));
        const log = await openLog(await second(), { onFault: () => {} });
        expect((await log.list({ owner: 'other', after: undefined, limit: 1 })).plants).toHaveLength(1);
        expect((await log.list({ owner: 'gone', after: undefined, limit: 1 })).plants).toEqual([]);
        await log.close();
        await from.cleanup();
      }),
    );

    test('a repair is refused where the log is broken, and where the read model has seen events that it lost', async () => {
      const opened = await open();
      const events = await fillSome(opened.store);
      await project(opened.store);
      const database = await opened.database();
      await database.removeEvent(events.length);
      await expect(drain(repairReadModel(opened.store))).rejects.toThrow(
        new RegExp(
          `at position ${events.length}, beyond the end of the log, .*: restore another backup, or .* audit export, then audit import`,
        ),
      );
      await database.putEvent(events.at(-1)!);
      await database.putEvent({ ...events[6]!, eventId: 'x' });
      await database.close();
      await expect(drain(repairReadModel(await opened.second()))).rejects.toThrow('broken at position 7');
      await opened.cleanup();
    });

    test('a repair does not move the read model over events that are broken', async () => {
      const opened = await open();
      await append(opened.store, added('alice', 1n));
      await project(opened.store);
      const [, third] = await append(opened.store, added('alice', 2n), added('alice', 3n));
      const database = await opened.database();
      await database.putEvent({ ...third!, eventId: 'x' });
      await database.close();
      const store = await opened.second();
      await expect(drain(repairReadModel(store))).rejects.toThrow('broken at position 3');
      expect(await store.checkpoint()).toBe(1);
      await opened.cleanup();
    });

    test('a content that no erasure of the log removed ends a repair, an export and a list, which say where it is', async () => {
      const opened = await open();
      const [first, , last] = await append(opened.store, added('alice', 1n), added('bob', 1n), added('bob', 2n));
      await project(opened.store);
      const database = await opened.database();
      // Its erasure was at the end of the log, which is lost.
      await database.putEvent({ ...first!, content: undefined, event: undefined, salt: undefined, erasedBy: 4 });
      await database.close();
      const store = await opened.second();
      const why =
        'broken at position 1: its content is missing, but position 4, to which it refers, is not an OwnerErased';
      await expect(drain(repairReadModel(store))).rejects.toThrow(why);
      await expect(drain(exportedEvents(store, 0, last!.position))).rejects.toThrow(why);
      await expect(drain((await plantsAsOf(store, undefined, undefined)).plants)).rejects.toThrow(why);
      await opened.cleanup();
    });

    test(
      'a read model that was set back below an erasure under way, which has removed contents, is repaired',
      on(async ({ store }) => {
        const plants = Array.from({ length: 300 }, (_, id) => added('alice', BigInt(id)));
        const [first] = await append(store, ...plants, added('bob', 1n));
        await project(store, 2);
        const [owner, key] = ['alice', new Uint8Array(16)];
        const subject = subjectOf({ owner, key });
        const event: OwnerErased = { type: 'OwnerErased', actor: 'operator', erased: 300, subject };
        const erasure = seal(await store.head(), event, randomUUID(), 0);
        await store.append([{ ...erasure, erases: { owner, key, isCleared: false, isPublished: false } }]);
        for await (const _ of store.eraseContents(owner, erasure.position));
        // As if owner after owner were erased all the while.
        const behind = override(store, { head: async () => headAt(first!) });
        await expect(drain(repairReadModel(behind))).rejects.toThrow('an owner was erased while the log was read');
        await drain(repairReadModel(store));
        expect(await store.checkpoint()).toBe(erasure.position);
        expect((await verdictOf(store)).places).toEqual({});
      }),
    );

    test('a checkpoint that is lost while an owner is being erased is made anew, and the erasure goes on', async () => {
      const opened = await open();
      const { store } = opened;
      await append(store, added('alice', 1n), added('bob', 1n));
      await project(store);
      const [owner, key] = ['alice', new Uint8Array(16)];
      const event: OwnerErased = { type: 'OwnerErased', actor: 'o', erased: 1, subject: subjectOf({ owner, key }) };
      const erasure = seal(await store.head(), event, randomUUID(), 0);
      await store.append([{ ...erasure, erases: { owner, key, isCleared: false, isPublished: false } }]);
      const database = await opened.database();
      await database.removeCheckpoint();
      await database.close();
      await drain(repairReadModel(await opened.second()));
      const log = await openLog(await opened.second(), { onFault: () => {} });
      log.finishErasures(() => {});
      await expect.poll(() => store.unfinished(), { timeout: 10_000 }).toEqual([]);
      await log.close();
      expect((await verdictOf(store)).places).toEqual({});
      await opened.cleanup();
    });

    test(
      'contents that an unfinished erasure left, although it says that it has removed all, are found',
      on(async ({ store }) => {
        await append(store, added('alice', 1n), added('bob', 1n), added('alice', 2n));
        const [owner, key] = ['alice', new Uint8Array(16)];
        const event: OwnerErased = { type: 'OwnerErased', actor: 'o', erased: 2, subject: subjectOf({ owner, key }) };
        const erasure = seal(await store.head(), event, randomUUID(), 0);
        await store.append([{ ...erasure, erases: { owner, key, isCleared: false, isPublished: false } }]);
        await drain(repairReadModel(store));
        expect((await verdictOf(store)).places).toEqual({});
        await drain(store.clearErased([erasure.position]));
        expect((await verdictOf(store)).places).toEqual({ contents: erasure.position });
        await drain(store.eraseContents(owner, erasure.position));
        expect((await verdictOf(store)).places).toEqual({});
      }),
    );

    test(
      'an empty log is whole, lists nothing, and is exported as nothing',
      on(async ({ store }) => {
        const { verdict } = await verdictOf(store, { checkpoint: checkpointOf([]) });
        expect(verdict).toMatchObject({ ok: true, head: EMPTY_HEAD, checkpoint: 0 });
        expect(await drain((await plantsAsOf(store, { time: Date.now() }, undefined)).plants)).toEqual([]);
        expect((await exportOf(store, 'ndjson')).length).toBe(0);
        await drain(repairReadModel(store));
        expect(headAt((await append(store, added('a', 1n)))[0]!).position).toBe(1);
      }),
    );
  });
}
