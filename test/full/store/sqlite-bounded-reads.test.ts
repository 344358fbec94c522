import { setImmediate as turnOver } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type EventLog, openLog } from '../../../src/log/log.ts';
import type { PlantRow, Snapshot, Store } from '../../../src/log/store.ts';
import { openSqliteStore } from '../../store/open-sqlite.ts';
import { override, withoutProjector } from '../../support/faulty-store.ts';
import { fill } from '../../support/fill.ts';

/** Most rows that one owner reads at once, all of them as large as may be, except for the first ones. */
const ROWS = 1_000;
const SMALL = 300;
const LARGE = '🌱'.repeat(1024);

/** Most bytes that one read may take: 256 of the largest rows, and as many as are read before those count. */
const MOST_BYTES = 3 * 1024 * 1024;
/** Most reads of one turn of the event loop, when each takes a millisecond. */
const MOST_OF_TURN = 5;
/** As many as one connection sends without waiting for an answer. */
const CONCURRENT = 64;

let opened: Awaited<ReturnType<typeof openSqliteStore>>;
let store: Store;

beforeAll(async () => {
  opened = await openSqliteStore();
  store = opened.store;
  await fill(store, ROWS, 'alice', (id) => (id < SMALL ? { name: 'Fern' } : { name: LARGE, tag: LARGE }));
});

afterAll(() => opened.cleanup());

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));

afterEach(async () => {
  vi.useRealTimers();
  // The next test begins in a turn without reads.
  await turnOver();
});

interface Text {
  readonly name: string;
  readonly tag?: string | undefined;
}

const bytesOf = (texts: readonly Text[]) =>
  texts.reduce((bytes, { name, tag }) => bytes + Buffer.byteLength(name) + Buffer.byteLength(tag ?? ''), 0);

const first = async <Batch>(batches: AsyncIterable<Batch>): Promise<Batch> => {
  for await (const batch of batches) return batch;
  throw new Error('nothing was read');
};

const eventsOf = async (batches: ReturnType<Store['read']>): Promise<Text[]> =>
  (await first(batches)).map(({ event }) => event as unknown as Text);

let snapshot: Snapshot;

describe('of many readers at once, each step is bounded, and each turn of the event loop has few of them', () => {
  beforeEach(async () => {
    snapshot = await store.snapshot();
  });

  afterEach(() => snapshot.close());

  const reads: Record<string, (after: number) => Promise<readonly Text[]>> = {
    'rows of the read model': async (after) => (await store.list('alice', BigInt(after), ROWS)).rows,
    'rows of a snapshot': (after) => first(snapshot.list('alice', BigInt(after))),
    'all rows of a snapshot': () => first(snapshot.all()),
    events: (after) => eventsOf(store.read(after)),
    'events of an owner': (after) => eventsOf(store.read(after, { owner: 'alice' })),
  };

  for (const [what, read] of Object.entries(reads))
    test(what, async () => {
      let turn = 0;
      const count = () => {
        turn++;
        counting = setImmediate(count);
      };
      let counting = setImmediate(count);
      const ofTurn = new Map<number, number>();
      const readers = Array.from({ length: CONCURRENT }, async (_, index) => {
        const texts = await read(index % 2 === 0 ? index : SMALL + index);
        vi.advanceTimersByTime(1);
        ofTurn.set(turn, (ofTurn.get(turn) ?? 0) + 1);
        expect(texts.length).toBeGreaterThan(0);
        expect(bytesOf(texts)).toBeLessThan(MOST_BYTES);
      });
      await Promise.all(readers);
      clearImmediate(counting);
      expect(Math.max(...ofTurn.values())).toBeLessThanOrEqual(MOST_OF_TURN);
    });
});

const KEYS = Array.from({ length: 512 }, (_, index) => ({ owner: 'alice', id: BigInt(SMALL + index) }));
const NAMES = KEYS.map(({ id }) => ({ owner: 'alice', idempotencyKey: `${id}` }));

const lookUps: Record<string, (count: number) => Promise<unknown>> = {
  'rows by key': (count) => store.get(KEYS.slice(0, count)),
  'events by idempotency key': (count) => store.findByIdempotencyKeys(NAMES.slice(0, count)),
};

for (const [what, lookUp] of Object.entries(lookUps)) {
  test(`of many look-ups of ${what}, one of few keys waits for a part of each other`, async () => {
    let ended = 0;
    const many = Array.from({ length: CONCURRENT }, () => lookUp(KEYS.length).then(() => ended++));
    await lookUp(1);
    expect(ended).toBe(0);
    await Promise.all(many);
  });

  test(`a look-up of ${what} does not wait for lists`, async () => {
    let ended = 0;
    const lists = Array.from({ length: CONCURRENT }, async (_, index) => {
      await store.list(`owner ${index}`, undefined, ROWS);
      vi.advanceTimersByTime(1);
      ended++;
    });
    await lookUp(KEYS.length);
    expect(ended).toBeLessThan(CONCURRENT / 2);
    await Promise.all(lists);
  });
}

test('of many lists at once, one at a time holds rows that are not merged', async () => {
  let held = 0;
  let most = 0;
  const counted = override(withoutProjector(store), {
    list: async (...query) => {
      const rows = await store.list(...query);
      most = Math.max(most, ++held);
      return rows;
    },
    close: async () => {},
  });
  const log: EventLog = await openLog(counted, { limits: { listBytes: 0 }, onFault: () => {} });
  const lists = Array.from({ length: CONCURRENT }, async (_, index) => {
    const { plants } = await log.list({ owner: 'alice', after: BigInt(SMALL + index), limit: 10 });
    held--;
    expect((plants as readonly PlantRow[])[0]!.id).toBe(BigInt(SMALL + index + 1));
    expect(plants).toHaveLength(10);
  });
  await Promise.all(lists);
  await log.close();
  expect(most).toBe(1);
});
