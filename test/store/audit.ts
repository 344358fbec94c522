import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plantsAsOf, positionAt } from '../../src/audit/fold/as-of.ts';
import { decodeExport, FORMATS } from '../../src/audit/formats/formats.ts';
import { importLog } from '../../src/audit/import.ts';
import { repairReadModel } from '../../src/audit/repair.ts';
import { exportedEvents } from '../../src/audit/steady.ts';
import { isName } from '../../src/auth/principal.ts';
import type { Command } from '../../src/domain/decider.ts';
import type { OwnerErased } from '../../src/domain/events.ts';
import { headAt, seal, subjectOf } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { openLog } from '../../src/log/log.ts';
import type { OwnedRow, Store } from '../../src/log/store.ts';
import { commandArbitrary } from '../support/arbitraries.ts';
import { encoded } from '../support/encoded.ts';
import { added, append, deleted, project } from '../support/events.ts';
import { withoutProjector } from '../support/faulty-store.ts';
import { fold, readLog } from '../support/fold.ts';
import { checkpointOf } from '../support/tree.ts';
import { type OpenDatabase, verdictOf } from './audit-tampering.ts';
import { withStore } from './open-store.ts';

/** A command of a caller whom a token may name. */
const callersCommand = commandArbitrary.filter(({ owner }) => isName(owner));

const quiet = { onFault: () => {} };

/** Submits commands at once; the refused ones are refused. */
async function submitAll(store: Store, commands: readonly Command[]): Promise<void> {
  const log = await openLog(withoutProjector(store), quiet);
  await Promise.allSettled(commands.map((command) => log.submit(command)));
}

const bytesOf = (left: Buffer, right: Buffer): number => Buffer.compare(left, right);

/** The fold of events as rows, in the order in which lists of all owners have them. */
const rowsOf = (events: readonly LoggedEvent[]): OwnedRow[] =>
  [...fold(events)]
    .sort(([a], [b]) => bytesOf(Buffer.from(a), Buffer.from(b)))
    .flatMap(([owner, rows]) => rows.map((row) => ({ owner, ...row })));

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
      'plants as of any position are the fold of the log up to there, of one owner and of all',
      on(async ({ store }) => {
        const events = await fillSome(store);
        for (const position of [0, 1, 2, 3, 599, 600, 601, events.length]) {
          const expected = rowsOf(events.slice(0, position));
          const all = await plantsAsOf(store, { position }, undefined);
          expect(all.position).toBe(position);
          expect((await drain(all.plants)).flat()).toEqual(expected);
          const bobs = await plantsAsOf(store, { position }, 'bob');
          expect((await drain(bobs.plants)).flat()).toEqual(expected.filter(({ owner }) => owner === 'bob'));
        }
        const now = await plantsAsOf(store, undefined, undefined);
        expect(now.position).toBe(events.length);
        await expect(plantsAsOf(store, { position: events.length + 1 }, undefined)).rejects.toMatchObject({
          reason: 'INVALID_FIELD',
        });
      }),
    );

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

    test('an export brought into another store is exported the same, to the byte, in every format', async () => {
      const [from, to] = [await open(), await open()];
      const commands = fc.sample(callersCommand, 300);
      await submitAll(await from.second(), commands);
      for (const format of ['ndjson', 'protobuf'] as const) {
        const target = await open();
        await drain(importLog(target.store, decodeExport(exported(from.store, format))));
        for (const again of ['ndjson', 'protobuf'] as const)
          expect(await exportOf(target.store, again)).toEqual(await exportOf(from.store, again));
        expect(await target.store.head()).toEqual(await from.store.head());
        const { verdict } = await verdictOf(target.store);
        expect(verdict).toMatchObject({ ok: true, checkpoint: verdict.head!.position });
        await target.cleanup();
      }
      await from.cleanup();
      await to.cleanup();
    });

    test('an import that ended early goes on where it was, whatever it had done', async () => {
      const from = await open();
      const events = await fillSome(from.store);
      for (const reached of [1, 2, 500, 1_199, 1_200]) {
        const to = await open();
        await to.store.append(events.slice(0, reached));
        await project(to.store, Math.floor(reached / 2));
        await drain(importLog(to.store, from.store.read(0)));
        expect(await exportOf(to.store, 'ndjson')).toEqual(await exportOf(from.store, 'ndjson'));
        expect(await to.store.checkpoint()).toBe(events.length);
        await to.cleanup();
      }
      await from.cleanup();
    });

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
        expect(await readLog(store)).toEqual([]);
        await append(await second(), added('alice', 0n));
        await expect(imported(events)).rejects.toThrow('another log');
        await expect(imported([])).rejects.toThrow('more than the 0 to import');
        expect(await readLog(store)).toHaveLength(1);
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
        await append(store, ...Array.from({ length: 300 }, (_, id) => added('alice', BigInt(id))), added('bob', 1n));
        await project(store, 2);
        const [owner, key] = ['alice', new Uint8Array(16)];
        const subject = subjectOf({ owner, key });
        const event: OwnerErased = { type: 'OwnerErased', actor: 'operator', erased: 300, subject };
        const erasure = seal(await store.head(), event, randomUUID(), 0);
        await store.append([{ ...erasure, erases: { owner, key, isCleared: false, isPublished: false } }]);
        for await (const _ of store.eraseContents(owner, erasure.position));
        await drain(repairReadModel(store));
        expect(await store.checkpoint()).toBe(erasure.position);
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
