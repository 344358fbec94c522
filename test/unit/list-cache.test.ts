import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PlantEvent } from '../../src/domain/events.ts';
import { seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { listBytes } from '../../src/log/row-size.ts';
import { ListCache } from '../../src/log/view/list-cache.ts';
import type { ListQuery, ShortList } from '../../src/log/view/listing.ts';
import { added, deleted } from '../support/events.ts';

const all = (owner: string): ListQuery => ({ owner, after: undefined, limit: undefined });

const listOf = (size: number, name = 'Fern'): ShortList => ({
  plants: Array.from({ length: size }, (_, id) => ({ id: BigInt(id), name, tag: undefined })),
  next: undefined,
  position: 0,
});

const logged = (position: number, event: PlantEvent): LoggedEvent =>
  seal({ ...EMPTY_HEAD, position: position - 1 }, event, '', 0);

const event = (owner: string, position: number): LoggedEvent => logged(position, added(owner, 1n));

describe('the cache of lists', () => {
  test('never takes more bytes than it may, whatever lists come and go', () => {
    const steps = fc.array(fc.tuple(fc.nat(20), fc.nat(300), fc.constantFrom('set', 'get', 'event')), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(steps, (run) => {
        const cache = new ListCache(400_000);
        const held = new Map<string, ShortList>();
        run.forEach(([number, size, step], position) => {
          const owner = `${number}`;
          if (step === 'event') {
            cache.extended([event(owner, position + 1)]);
            held.delete(owner);
          } else if (step === 'set') {
            held.set(owner, listOf(size));
            cache.set(all(owner), held.get(owner)!);
          } else {
            const found = cache.get(all(owner));
            if (found !== undefined) expect(found).toBe(held.get(owner));
          }
          expect(cache.statistics.bytes).toBeLessThanOrEqual(400_000);
        });
      }),
    );
  });

  test('gives no list that an event has changed, whatever was asked for', () => {
    const id = fc.integer({ min: 0, max: 7 }).map(BigInt);
    const query = fc.record({
      after: fc.option(id, { nil: undefined }),
      limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(fc.oneof(id, query), { maxLength: 60 }), (steps) => {
        const cache = new ListCache(1_000_000);
        const there = new Set<bigint>();
        const asked: ListQuery[] = [];
        const now = ({ after, limit }: ListQuery): ShortList => {
          const ids = [...there].toSorted((a, b) => Number(a - b)).filter((one) => after === undefined || one > after);
          const cut = limit !== undefined && ids.length > limit ? ids.slice(0, limit) : ids;
          const plants = cut.map((one) => ({ id: one, name: 'Fern', tag: undefined }));
          return { plants, next: cut.length < ids.length ? cut.at(-1) : undefined, position: 0 };
        };
        steps.forEach((step, position) => {
          if (typeof step === 'bigint') {
            const isAdded = !there.delete(step);
            if (isAdded) there.add(step);
            const data = isAdded ? added('alice', step) : deleted('alice', step);
            cache.extended([logged(position + 1, data)]);
          } else {
            asked.push({ owner: 'alice', ...step });
            cache.set(asked.at(-1)!, now(asked.at(-1)!));
          }
          for (const one of asked) expect(cache.get(one) ?? now(one)).toEqual(now(one));
        });
      }),
      { numRuns: 500 },
    );
  });

  test('keeps a list that a limit cut, and one that goes on after a cursor, when what is added lies beyond', () => {
    const cache = new ListCache(1_000_000);
    const [cut, rest] = [
      { ...all('alice'), limit: 3 },
      { ...all('alice'), after: 2n },
    ];
    cache.set(cut, { ...listOf(3), next: 2n });
    cache.extended([logged(1, added('alice', 9n))]);
    expect(cache.get(cut)).toBeDefined();
    cache.set(rest, listOf(0));
    cache.extended([logged(2, deleted('alice', 1n))]);
    expect(cache.get(cut)).toBeUndefined();
    expect(cache.get(rest)).toBeDefined();
  });

  test('lets go first of what was not asked for the longest', () => {
    const cache = new ListCache(100 * listBytes(listOf(30).plants));
    for (let owner = 0; owner < 500; owner++) {
      cache.set(all(`${owner}`), listOf(30));
      expect(cache.get(all('0'))).toBeDefined();
    }
    expect(cache.get(all('1'))).toBeUndefined();
    expect(cache.get(all('499'))).toBeDefined();
    expect(cache.statistics.hits).toBe(501);
  });

  test('does not keep a list that takes more than an eighth of it', () => {
    const cache = new ListCache(80_000);
    cache.set(all('a'), listOf(100));
    cache.set(all('b'), listOf(10));
    expect([cache.get(all('a')), cache.statistics.entries]).toEqual([undefined, 1]);
  });

  test('of no bytes keeps nothing', () => {
    const cache = new ListCache(0);
    cache.set(all('a'), listOf(0));
    cache.extended([event('a', 1)]);
    expect(cache.get(all('a'))).toBeUndefined();
    expect(cache.statistics).toEqual({ hits: 0, misses: 0, entries: 0, bytes: 0 });
  });
});

test.each(['Fern', '\u0001'.repeat(9), '植物', '🌱', '"\\', ''])(
  'the bytes of plants are no fewer than those of the text %j in memory, JSON and protobuf',
  (text) => {
    const { plants } = listOf(10, text);
    const inMemory = (/^[\0-\xff]*$/.test(text) ? 1 : 2) * text.length;
    const encoded = Buffer.byteLength(JSON.stringify(text)) + Buffer.byteLength(text);
    expect(listBytes(plants)).toBeGreaterThan(10 * (inMemory + encoded));
  },
);
