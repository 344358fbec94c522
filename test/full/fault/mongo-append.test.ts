import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { EMPTY_HEAD } from '../../../src/log/event/event.ts';
import { openMongo } from '../../../src/log/mongo/store.ts';
import type { Store } from '../../../src/log/store.ts';
import { HAS_MONGODB } from '../../store/open-mongo.ts';
import { added, chain } from '../../support/events.ts';
import { readLog } from '../../support/fold.ts';
import { ReplicaSet } from '../../support/replica-set.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const plants = (owner: string) =>
  chain(
    EMPTY_HEAD,
    [1n, 2n, 3n, 4n, 5n].map((id) => added(owner, id)),
  );

/**
 * Asks a store until it answers: its driver has dropped its connections, and on a busy machine may find the primary
 * again only after its time limit.
 */
const answered = <Answer>(ask: () => Promise<Answer>): Promise<Answer> =>
  vi.waitFor(ask, { timeout: 30_000, interval: 100 });

/** Whether a chunk to the server is an append. */
const isAppend = (chunk: Buffer): boolean => chunk.includes('insert') && chunk.includes('events');

describe.runIf(HAS_MONGODB)('faults of an append on MongoDB', () => {
  let set: ReplicaSet;
  beforeAll(async () => {
    set = await ReplicaSet.start(1);
  });
  afterAll(() => set.remove());

  interface Setting {
    /** A store behind the proxy, and another instance that is not. */
    readonly store: Store;
    readonly other: Store;
    readonly proxy: TcpProxy;
    readonly database: string;
  }

  const withStores = (run: (setting: Setting) => Promise<void>) => async () => {
    const database = `plantstore-${randomUUID()}`;
    const proxy = await TcpProxy.start(set.members[0]!.port);
    const store = await openMongo(`mongodb://127.0.0.1:${proxy.port}/${database}?directConnection=true`);
    const other = await openMongo(set.uri(database));
    try {
      await run({ store, other, proxy, database });
    } finally {
      for (const failPoint of ['failCommand', 'failCollectionInserts'])
        await set.command({ configureFailPoint: failPoint, mode: 'off' });
      await store.close();
      await other.close();
      await proxy.close();
    }
  };

  /** Makes the server fail the next insert. */
  const failInsert = (data: object) =>
    set.command({ configureFailPoint: 'failCommand', mode: { times: 1 }, data: { failCommands: ['insert'], ...data } });

  test(
    'a reply that is lost: the append rejects, the log has the events, and the same append again finds them',
    withStores(async ({ store, proxy, other }) => {
      const events = plants('alice');
      proxy.fate = (chunk) => (isAppend(chunk) ? 'lose reply' : 'forward');
      await expect(store.append(events)).rejects.toThrow();
      proxy.fate = () => 'forward';
      while ((await other.head()).position < 5);
      expect(await answered(() => readLog(store))).toEqual(events);
      expect(await store.append(events)).toBe(0);
      expect(await readLog(other)).toEqual(events);
    }),
  );

  test(
    'a request that is lost: the append rejects, is not sent by itself again, and succeeds when it is',
    withStores(async ({ store, proxy }) => {
      const events = plants('alice');
      let requests = 0;
      proxy.fate = (chunk) => {
        if (!isAppend(chunk)) return 'forward';
        requests++;
        return 'lose request';
      };
      await expect(store.append(events)).rejects.toThrow();
      expect(requests).toBe(1);
      proxy.fate = () => 'forward';
      expect(await answered(() => readLog(store))).toEqual([]);
      expect(await store.append(events)).toBe(5);
    }),
  );

  test(
    'a request that comes late, when others have the positions, changes nothing',
    withStores(async ({ store, other, proxy }) => {
      proxy.fate = (chunk) => (isAppend(chunk) ? 'hold' : 'forward');
      const late = store.append(plants('late'));
      await proxy.holds();
      const events = plants('alice');
      expect(await other.append(events)).toBe(5);
      proxy.release();
      expect(await late).toBe(0);
      expect(await readLog(other)).toEqual(events);
    }),
  );

  test.for([
    ['NotWritablePrimary', { errorCode: 10107 }],
    ['PrimarySteppedDown', { errorCode: 189 }],
    ['WriteConflict', { errorCode: 112 }],
    ['ShutdownInProgress', { errorCode: 91 }],
    ['a connection that is closed', { closeConnection: true }],
  ] as const)('%s: the append rejects, nothing is in the log, and the next one succeeds', ([, data]) =>
    withStores(async ({ store, other }) => {
      await failInsert(data);
      await expect(store.append(plants('alice'))).rejects.toThrow();
      expect(await readLog(other)).toEqual([]);
      expect(await answered(() => store.append(plants('alice')))).toBe(5);
    })(),
  );

  test(
    'no majority in time: the append rejects, whether its events went in or met a taken position',
    withStores(async ({ store, other }) => {
      const inTime = { writeConcernError: { code: 64, codeName: 'WriteConcernFailed', errmsg: 'waiting timed out' } };
      await failInsert(inTime);
      await expect(store.append(plants('alice'))).rejects.toThrow('waiting timed out');
      while ((await other.head()).position < 5);
      await failInsert(inTime);
      await expect(store.append(plants('bob'))).rejects.toThrow('waiting timed out');
      expect(await store.append(plants('bob'))).toBe(0);
    }),
  );

  test(
    'what stands before a taken position is counted and stays, what comes after it is not there',
    withStores(async ({ store, other }) => {
      const [events, theirs] = [plants('alice'), plants('bob')];
      expect(await other.append(theirs.slice(2, 3))).toBe(1);
      expect(await store.append(events)).toBe(2);
      expect(await readLog(other)).toEqual([...events.slice(0, 2), theirs[2]]);
    }),
  );

  test(
    'an append that any other error cuts short rejects, and leaves a prefix',
    withStores(async ({ store, other, database }) => {
      const events = plants('alice');
      const data = { collectionNS: `${database}.events`, first_id: 4 };
      await set.command({ configureFailPoint: 'failCollectionInserts', mode: 'alwaysOn', data });
      await expect(store.append(events)).rejects.toThrow();
      const left = await readLog(other);
      expect(left).toEqual(events.slice(0, left.length));
      expect(left.length).toBeLessThan(4);
    }),
  );

  test.each([
    ['goes away', { closeConnection: true }],
    ['is no primary any more', { errorCode: 10107 }],
  ])('a server that %s while it is asked for the head is asked once more', (_, data) =>
    withStores(async ({ store }) => {
      const failFind = (times: number) =>
        set.command({ configureFailPoint: 'failCommand', mode: { times }, data: { failCommands: ['find'], ...data } });
      await store.append(plants('alice'));
      await store.head();
      await failFind(1);
      expect((await store.head()).position).toBe(5);
      await failFind(2);
      await expect(store.head()).rejects.toThrow();
      expect((await answered(() => store.head())).position).toBe(5);
    })(),
  );

  test('a frozen server: every call rejects within its time, and goes on when the server does', async () => {
    const store = await openMongo(set.uri(`plantstore-${randomUUID()}`));
    const events = plants('alice');
    await set.members[0]!.freeze();
    const calls = [store.append(events), store.head(), store.checkpoint(), store.snapshot(), store.get([])];
    const settled = await Promise.allSettled(calls);
    set.members[0]!.signal('SIGCONT');
    expect(settled.map(({ status }) => status)).toEqual(calls.map(() => 'rejected'));
    // What was sent before may still come in now, or not.
    expect([0, 5]).toContain(await answered(() => store.append(events)));
    expect(await readLog(store)).toEqual(events);
    await store.close();
  });
});
