import { describe, expect, test } from 'vitest';
import { headAt, seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../../src/log/event/event.ts';
import type { Store } from '../../src/log/store.ts';
import { added, deleted, project } from '../support/events.ts';
import { readAnyLog } from '../support/fold.ts';
import type { Kept } from '../support/malformed.ts';
import { type OpenDatabase, verdictOf } from './audit-tampering.ts';

/** A log with an event of each type, and one that is erased, all with another after them. */
async function fill(store: Store): Promise<LoggedEvent[]> {
  const events = [
    added('zoe', 1n),
    { ...added('alice', 2n, 'Fern', 'indoor'), idempotencyKey: 'k' },
    deleted('alice', 2n),
    { type: 'OwnerErased' as const, actor: 'operator', erased: 1 },
    { ...added('bob', 3n), idempotencyKey: 'k' },
  ];
  let head: Head = EMPTY_HEAD;
  const log = events.map((event) => {
    const sealed = seal(head, event, crypto.randomUUID(), Date.now());
    head = headAt(sealed);
    return sealed;
  });
  const erased = { ...log[0]!, event: undefined, salt: undefined, content: undefined, erasedBy: 4 };
  expect(await store.append(log.with(0, erased))).toBe(5);
  await project(store);
  return readAnyLog(store);
}

/** Keys that are not those of the event at a position. */
const WRONG_KEYS: readonly [name: string, position: number, keys: Kept][] = [
  ['another owner', 2, { owner: 'mallory' }],
  ['no owner', 2, { owner: undefined }],
  ['an empty owner', 2, { owner: '' }],
  ['an owner, although it is erased', 1, { owner: 'zoe' }],
  ['an owner, although it is an erasure', 4, { owner: 'zoe' }],
  ['another plant', 3, { plantId: 77n }],
  ['no plant', 3, { plantId: undefined }],
  ['a plant, although it is erased', 1, { plantId: 1n }],
  ['another idempotency key', 2, { idempotencyKey: 'other' }],
  ['no idempotency key', 2, { idempotencyKey: undefined }],
  ['an idempotency key, although it has none', 3, { idempotencyKey: 'other' }],
  ['another idempotency key, as the last', 5, { idempotencyKey: 'other' }],
];

const NO_KEYS: Kept = { owner: undefined, plantId: undefined, idempotencyKey: undefined };

/** Those of the events at the same positions. */
const RIGHT_KEYS: Readonly<Record<number, Kept>> = {
  1: NO_KEYS,
  2: { owner: 'alice', plantId: 2n, idempotencyKey: 'k' },
  3: { ...NO_KEYS, owner: 'alice', plantId: 2n },
  4: NO_KEYS,
  5: { owner: 'bob', plantId: 3n, idempotencyKey: 'k' },
};

/**
 * What the verification of every store has to find where the bytes of an event, or what stands beside them, changed.
 */
export function malformedContract(name: string, open: OpenDatabase): void {
  const change = async (store: OpenedWith, position: number, kept: Kept) => {
    const database = await store.database();
    await database.keep(position, kept);
    await database.close();
  };

  describe(`bytes on ${name}`, () => {
    test('a log with events of all types is whole, and so is each event that is put there as it was', async () => {
      const opened = await open();
      const events = await fill(opened.store);
      for (const { position, bytes, hash, content, erasedBy } of events)
        await change(opened, position, { event: bytes, hash, content, erasedBy });
      expect((await verdictOf(opened.store)).places).toEqual({});
      await opened.cleanup();
    });

    test('an event that the store finds by what it has not is found', async () => {
      const opened = await open();
      const events = await fill(opened.store);
      for (const [kind, position, keys] of WRONG_KEYS) {
        await change(opened, position, keys);
        expect((await verdictOf(opened.store)).places, kind).toEqual({ storage: position });
        // What an event is, its bytes say.
        expect(await readAnyLog(opened.store)).toEqual(events);
        await change(opened, position, RIGHT_KEYS[position]!);
      }
      expect((await verdictOf(opened.store)).places).toEqual({});
      await opened.cleanup();
    });
  });
}

type OpenedWith = Awaited<ReturnType<OpenDatabase>>;
