import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { PlantStoreError } from '../../src/domain/errors.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import type { Listing } from '../../src/log/view/listing.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, project } from '../support/events.ts';
import { gated, override } from '../support/faulty-store.ts';
import { fill } from '../support/fill.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openSqliteStore } from './open-sqlite.ts';

/** Far more than a list in memory has. */
const LONG = 30_000;
/** Milliseconds that a long list has. */
const LIST_TIME = 240_000;

test('to count off a limit takes of the time that a list has, and ends in an error when that is up', async () => {
  const directory = temporaryDirectory(onTestFinished);
  const store = openSqlite(directory);
  await fill(store, LONG, 'alice');
  const gate = Promise.withResolvers<void>();
  const log = await openLog(gated(store, gate.promise), { onFault: () => {} });
  onTestFinished(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    await log.close();
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const list = log.list({ owner: 'alice', after: undefined, limit: LONG - 1 });
  const refused = expect(list).rejects.toMatchObject({ reason: 'OVERLOADED' });
  // Of the timers, that of the list alone lasts so long.
  while (!timers.mock.calls.some(([, milliseconds]) => milliseconds! > LIST_TIME / 2)) await turn();
  vi.advanceTimersByTime(LIST_TIME);
  gate.resolve();
  await refused;
});

test('an owner reads so many long lists at once; one that ends, or is left, makes room; short ones and other owners do not count', async () => {
  const directory = temporaryDirectory(onTestFinished);
  const store = openSqlite(directory);
  await fill(store, LONG, 'alice');
  const log = await openLog(store, { limits: { lists: 2 }, onFault: () => {} });
  onTestFinished(async () => {
    await log.close();
  });
  const list = (owner = 'alice', limit?: number) => log.list({ owner, after: undefined, limit });
  const batches = ({ plants }: Listing) => plants as AsyncIterableIterator<unknown>;

  const [first, second] = [await list(), await list()];
  const refused = () => expect(list()).rejects.toMatchObject({ reason: 'TOO_MANY_LISTS', details: { retryAfter: 1 } });
  await refused();
  expect((await list('alice', 10)).plants).toHaveLength(10);
  expect((await list('bob')).plants).toEqual([]);

  for await (const _ of batches(first));
  const third = await list();
  await refused();
  await batches(second).return!();
  await batches(second).return!();
  const fourth = await list();
  await refused();
  for (const open of [third, fourth]) await batches(open).return!();
});

test('two owners who read all long lists that they may leave some to a third; one who finds none is told so', async () => {
  const store = openSqlite(temporaryDirectory(onTestFinished));
  await fill(store, LONG, 'alice');
  // Whoever asks: only the owner whom the log counts for matters.
  const log = await openLog(override(store, { list: (_owner, ...rest) => store.list('alice', ...rest) }), {
    limits: { lists: 32 },
    onFault: () => {},
  });
  onTestFinished(() => log.close());
  const open: Listing[] = [];
  const takeAll = async (owner: string): Promise<[number, string]> => {
    for (let count = 0; ; count++)
      try {
        open.push(await log.list({ owner, after: undefined, limit: undefined }));
      } catch (error) {
        return [count, (error as PlantStoreError).reason];
      }
  };
  expect(await takeAll('alice')).toEqual([32, 'TOO_MANY_LISTS']);
  expect(await takeAll('bob')).toEqual([16, 'TOO_MANY_LISTS']);
  expect(await takeAll('carol')).toEqual([8, 'TOO_MANY_LISTS']);
  for (const owner of ['dave', 'erin', 'frank', 'grace']) await takeAll(owner);
  expect(await takeAll('heidi')).toEqual([0, 'OVERLOADED']);
  for (const { plants } of open) await (plants as AsyncIterableIterator<unknown>).return!();
  expect(await takeAll('heidi')).toEqual([32, 'TOO_MANY_LISTS']);
});

test('a long list shows nothing more once its owner is erased, wherever that was; that of another owner goes on', async () => {
  const { store, second } = await openMemoryStore();
  const ids = Array.from({ length: 4_000 }, (_, index) => BigInt(index));
  for (const owner of ['gone', 'other'])
    await append(store, ...ids.map((id) => added(owner, id, 'a long name'.repeat(30))));
  await project(store);
  let isAway = false;
  const unlessAway =
    <Found>(call: () => Promise<Found>) =>
    async () => {
      if (isAway) throw new Error('away');
      return call();
    };
  const away = override(await second(), {
    head: unlessAway(() => store.head()),
    checkpoint: unlessAway(() => store.checkpoint()),
    lease: async () => false,
  });
  const logs = [await openLog(store, { onFault: () => {} }), await openLog(away, { onFault: () => {} })];
  const begun = async (log: EventLog, owner: string) => {
    const { plants } = await log.list({ owner, after: undefined, limit: undefined });
    const batches = plants as AsyncIterableIterator<unknown>;
    await batches.next();
    return batches;
  };
  const [gone, other] = await Promise.all(
    ['gone', 'other'].map((owner) => Promise.all(logs.map((log) => begun(log, owner)))),
  );
  isAway = true;
  for await (const _ of logs[0]!.erase({ owner: 'gone', actor: 'operator' }));
  expect(await store.unfinished()).toEqual([]);
  isAway = false;
  const erased = { reason: 'STORE_UNAVAILABLE', message: expect.stringContaining('an owner was erased') };
  for (const batches of gone!) await expect(batches.next()).rejects.toMatchObject(erased);
  // Whoever was away hears of an erasure, and not of whom.
  expect((await other![0]!.next()).done).toBe(false);
  await expect(other![1]!.next()).rejects.toMatchObject(erased);
  for (const log of logs) await log.close();
});

test('a long list that cannot begin leaves no snapshot open, and takes no place of another', async () => {
  const store = openSqlite(temporaryDirectory(onTestFinished));
  await fill(store, LONG, 'alice');
  let [opened, closed] = [0, 0];
  const log = await openLog(
    override(store, {
      snapshot: async () => {
        opened++;
        const snapshot = await store.snapshot();
        // As of a read model whose checkpoint was lost. While it is open, nothing is cleared behind it.
        return {
          ...snapshot,
          position: undefined,
          close: async () => {
            closed++;
            await snapshot.close();
          },
        };
      },
    }),
    { onFault: () => {} },
  );
  onTestFinished(() => log.close());
  // More often than an owner may read long lists at once.
  for (let lists = 0; lists < 40; lists++) {
    const list = log.list({ owner: 'alice', after: undefined, limit: undefined });
    await expect(list).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  }
  expect(opened).toBeGreaterThan(0);
  expect(closed).toBe(opened);
});

test('those who ask for the same list at once share one read of it, and get the same object', async () => {
  const { store, cleanup } = await openSqliteStore();
  let reads = 0;
  const counted = override(store, {
    list: (...query) => {
      reads++;
      return store.list(...query);
    },
  });
  const log = await openLog(counted, { onFault: () => {} });
  const asked = Array.from({ length: 50 }, () => log.list({ owner: 'alice', after: undefined, limit: undefined }));
  expect([new Set(await Promise.all(asked)).size, reads]).toEqual([1, 1]);
  await log.close();
  await cleanup();
});
