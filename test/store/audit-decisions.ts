import { describe, expect, test } from 'vitest';
import { decodeExport, FORMATS } from '../../src/audit/formats/formats.ts';
import { importLog } from '../../src/audit/import.ts';
import type { PlantEvent } from '../../src/domain/events.ts';
import { headAt, seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { openLog } from '../../src/log/log.ts';
import { added, append, chain, deleted, project } from '../support/events.ts';
import { SOAK } from '../support/soak.ts';
import { verdictOf } from './audit-tampering.ts';
import { type OpenStore, withStore } from './open-store.ts';

/** A log that is right: the first of a key, deleted and there again, with two keys of two owners that are the same. */
const RIGHT: readonly PlantEvent[] = [
  added('alice', 1n, 'Fern'),
  { ...added('alice', 2n, 'Oak'), idempotencyKey: 'k' },
  { ...added('bob', 1n, 'Elm'), idempotencyKey: 'k' },
  deleted('alice', 1n),
  added('alice', 1n, 'x'.repeat(1_024), '🌱'.repeat(1_024)),
];

const DAY = 24 * 60 * 60 * 1_000;

/** What no decider writes after RIGHT, and what is said of it. */
const WRONG: readonly (readonly [string, PlantEvent, RegExp])[] = [
  ['a plant that is there is added', added('alice', 2n), /plant 2 of "alice" is added, but existed already/],
  ['a plant that never was is deleted', deleted('alice', 9n), /plant 9 of "alice" is deleted, but did not exist/],
  ['a plant of another owner is deleted', deleted('carol', 1n), /plant 1 of "carol" is deleted/],
  ['an idempotency key is used again', { ...added('alice', 9n), idempotencyKey: 'k' }, /less than 24 hours earlier/],
  ['an idempotency key is empty', { ...added('alice', 9n), idempotencyKey: '' }, /idempotency key does not have/],
  ['an idempotency key is too long', { ...added('alice', 9n), idempotencyKey: 'k'.repeat(256) }, /key does not have/],
  ['an owner is empty', added('', 9n), /its owner is not a valid name/],
  ['an owner is too long', added('o'.repeat(1_025), 9n), /its owner is not a valid name/],
  ['an actor is empty', { ...added('alice', 9n), actor: '' }, /its actor is not a valid name/],
  ['a name is too long', added('alice', 9n, 'x'.repeat(20_000)), /its name must have at most 1024/],
  ['a name is one code point too long', added('alice', 9n, '🌱'.repeat(1_025)), /its name must have at most 1024/],
  ['a tag is too long', added('alice', 9n, 'Ivy', 'x'.repeat(1_025)), /its tag must have at most 1024/],
  ['an owner is no Unicode', added('alice\ud800', 9n), /its owner is not a valid name/],
  ['a name is no Unicode', added('alice', 9n, 'Fern \udc00'), /its name must be well-formed/],
  ['a tag is no Unicode', added('alice', 9n, 'Fern', '\ud800'), /its tag must be well-formed/],
];

/** Where the read model of RIGHT may stand. */
const PROJECTED = [0, 2, RIGHT.length];

/** What a store does not even keep as it is. */
const NOT_KEPT = /no Unicode|key is empty/;

async function* inBatches(events: readonly LoggedEvent[], size: number): AsyncGenerator<readonly LoggedEvent[]> {
  for (let from = 0; from < events.length; from += size) yield events.slice(from, from + size);
}

async function* bytes(text: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text as string);
}

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** What `decisions` and import have to find on every store. */
export function decisionsContract(name: string, open: OpenStore): void {
  const on = withStore(open);
  const right = chain(EMPTY_HEAD, RIGHT);
  const after = (event: PlantEvent) => chain(headAt(right.at(-1)!), [event]);

  describe(`decisions on ${name}`, () => {
    const kept = WRONG.filter(([what]) => !NOT_KEPT.test(what)).map((each, index) => [...each, index] as const);
    test.each(kept)(
      'a log with right hashes is not whole where %s, wherever the read model stands',
      async (_, event, why, index) => {
        // Short runs try each place of the read model on some of them.
        for (const projected of SOAK ? PROJECTED : [PROJECTED[index % PROJECTED.length]!]) {
          const opened = await open();
          await append(opened.store, ...RIGHT);
          await project(opened.store, projected);
          expect((await verdictOf(opened.store)).places).toEqual({});
          await append(opened.store, event);
          await append(opened.store, added('zoe', 1n));
          const { verdict, places } = await verdictOf(opened.store);
          expect({ ok: verdict.ok, places }).toEqual({ ok: false, places: { decisions: RIGHT.length + 1 } });
          expect(verdict.answers.find(({ question }) => question === 'decisions')!.failure!.message).toMatch(why);
          await opened.cleanup();
        }
      },
    );

    test(
      'of several places the first is told, whatever is wrong there',
      on(async ({ store }) => {
        await append(store, ...RIGHT, deleted('nobody', 1n), added('', 1n), deleted('nobody', 1n));
        expect((await verdictOf(store)).places).toEqual({ decisions: 6 });
      }),
    );

    test(
      'an event id that is no UUID is found; 1.0.0 let an idempotency key be used again after a day',
      on(async ({ store }) => {
        const events = chain(EMPTY_HEAD, RIGHT);
        const second = events[1]!;
        const head = headAt(events.at(-1)!);
        const again = { ...added('alice', 9n), idempotencyKey: 'k' };
        const early = seal(head, again, crypto.randomUUID(), second.time + DAY - 1);
        const late = seal(head, again, crypto.randomUUID(), second.time + DAY);
        const other = await open();
        await other.store.append([...events, early]);
        expect((await verdictOf(other.store)).places).toEqual({ decisions: early.position });
        await other.cleanup();
        await store.append([...events, late, seal(headAt(late), added('bob', 9n), 'an id', late.time)]);
        expect((await verdictOf(store)).places).toEqual({ decisions: late.position + 1 });
      }),
    );
  });

  describe(`import into ${name}`, () => {
    test.each(WRONG)('nothing of the batch is written where %s, and the right log goes in after it', (_, event, why) =>
      on(async ({ store, second }) => {
        const wrong = [...right, ...after(event)];
        await expect(drain(importLog(store, inBatches(wrong, wrong.length)))).rejects.toThrow(why);
        expect((await store.head()).position).toBe(0);
        await drain(importLog(store, inBatches(right, 2)));
        expect((await verdictOf(store)).places).toEqual({});
        // The log can be continued, and what is added is projected.
        const log = await openLog(await second(), { onFault: () => {} });
        await log.submit({ type: 'DeletePlant', owner: 'alice', actor: 'alice', id: 1n });
        await log.close();
        expect((await verdictOf(store)).places).toEqual({});
      })(),
    );

    describe('a lone surrogate is never made into U+FFFD', () => {
      const lone = after(added('alice', 9n, 'Fern \ud800'));
      const mended = chain(headAt(right.at(-1)!), [added('alice', 9n, 'Fern \ufffd')]);
      const cases: [string, () => string | Uint8Array][] = [
        ['escaped in JSON', () => FORMATS.ndjson.encode([...right, ...lone])],
        ['in the bytes of JSON', () => rawSurrogate(FORMATS.ndjson.encode([...right, ...mended]))],
        ['in the bytes of protobuf', () => rawSurrogate(FORMATS.protobuf.encode([...right, ...mended]))],
      ];
      test.each(cases)('%s', (_, encoded) =>
        on(async ({ store }) => {
          await expect(drain(importLog(store, decodeExport(bytes(encoded()))))).rejects.toThrow();
          expect((await store.head()).position).toBe(0);
        })(),
      );
    });
  });
}

/** U+FFFD in UTF-8, and U+D800 in what would be UTF-8 were it allowed: three bytes each. */
function rawSurrogate(encoded: string | Uint8Array): Uint8Array {
  const text = Buffer.from(encoded as string);
  const at = text.indexOf('\ufffd');
  expect(at).toBeGreaterThan(0);
  return Buffer.concat([text.subarray(0, at), Buffer.from([0xed, 0xa0, 0x80]), text.subarray(at + 3)]);
}
