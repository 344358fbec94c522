import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { CLIENT_LEFT, OVERLOADED, OWNER_BUSY, type Permit, Semaphore } from '../../src/semaphore.ts';

/** A semaphore, and the names of all that took a permit of it, in that order. */
function scene(options: ConstructorParameters<typeof Semaphore>[0]) {
  const semaphore = new Semaphore(options);
  const taken: string[] = [];
  const permits = new Map<string, Permit>();
  /** `name`: an owner and a number. */
  const take = async (name: string) => {
    const permit = await semaphore.acquire(name.split(' ')[0]!);
    taken.push(name);
    permits.set(name, permit);
  };
  const release = (name: string) => permits.get(name)![Symbol.dispose]();
  return { semaphore, taken, take, release };
}

/** Waits until the semaphore has given out what is free. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await setImmediate();
}

describe('an owner', () => {
  test('has its share at most; another one takes the rest at once', async () => {
    const { semaphore, taken, take, release } = scene({ permits: 4, share: 2, maxWaiting: 8 });
    const all = ['mallory 0', 'mallory 1', 'mallory 2', 'alice 0'].map(take);
    await settle();
    expect(taken).toEqual(['mallory 0', 'mallory 1', 'alice 0']);
    expect([semaphore.used, semaphore.waiting]).toEqual([3, 1]);
    release('alice 0');
    await settle();
    expect(taken).toHaveLength(3);
    release('mallory 0');
    await Promise.all(all);
    expect([semaphore.used, semaphore.waiting]).toEqual([2, 0]);
  });

  test('takes turns with others, whose callers go in order of arrival', async () => {
    const { semaphore, taken } = scene({ permits: 1, maxWaiting: 8 });
    const work = async (name: string) => {
      using _permit = await semaphore.acquire(name.split(' ')[0]!);
      taken.push(name);
    };
    await Promise.all(['alice 0', 'alice 1', 'alice 2', 'alice 3', 'bob 0', 'bob 1'].map(work));
    expect(taken).toEqual(['alice 0', 'alice 1', 'bob 0', 'alice 2', 'bob 1', 'alice 3']);
  });

  test('does not keep a permit that is free by waiting beyond its own share', async () => {
    const { taken, take } = scene({ permits: 2, share: 1, maxWaiting: 8 });
    await take('mallory 0');
    void take('mallory 1');
    await take('alice 0');
    expect(taken).toEqual(['mallory 0', 'alice 0']);
  });
});

test('no owner takes more than it leaves to others, so that few owners cannot take all', async () => {
  const { semaphore, taken, take } = scene({ permits: 16, share: 4, maxWait: 1_000, maxWaiting: 8 });
  const names = ['a', 'b', 'c', 'd', 'e'].flatMap((owner) => [0, 1, 2, 3].map((number) => `${owner} ${number}`));
  for (const name of names) void take(name)?.catch?.(() => {});
  await settle();
  const count = (owner: string) => taken.filter((name) => name.startsWith(owner)).length;
  expect(['a', 'b', 'c', 'd', 'e'].map(count)).toEqual([4, 4, 4, 2, 1]);
  expect(semaphore.used).toBe(15);
  await take('f 0');
  expect(semaphore.used).toBe(16);
});

test('a permit that was released in this turn goes to who waits, and not to who comes now', async () => {
  const { taken, take, release } = scene({ permits: 1, maxWaiting: 8 });
  await take('mallory 0');
  void take('alice 0');
  release('mallory 0');
  void take('carol 0');
  await settle();
  expect(taken).toEqual(['mallory 0', 'alice 0']);
  release('alice 0');
  await settle();
  expect(taken).toEqual(['mallory 0', 'alice 0', 'carol 0']);
});

test('callers that waited for one permit go on one in a turn of the event loop', async () => {
  const { semaphore } = scene({ permits: 1, maxWaiting: 8 });
  let turn = 0;
  const next = () => {
    turn++;
    immediate = globalThis.setImmediate(next);
  };
  let immediate = globalThis.setImmediate(next);
  const turns = new Set<number>();
  const work = async () => {
    using _permit = await semaphore.acquire('alice');
    turns.add(turn);
  };
  await Promise.all(Array.from({ length: 5 }, work));
  clearImmediate(immediate);
  expect(turns.size).toBe(5);
});

describe('who waits for longer than maxWait', () => {
  test.each([
    ['for others is OVERLOADED', 'alice', OVERLOADED],
    ["for its own owner's callers has TOO_MANY_REQUESTS", 'mallory', OWNER_BUSY],
    ['for other callers without a token is OVERLOADED', '', OVERLOADED],
  ])('%s, and is forgotten', async (_, owner, error) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { semaphore, take, release } = scene({ permits: 4, share: 2, maxWait: 100, maxWaiting: 8 });
    const held = owner === 'alice' ? ['mallory 0', 'mallory 1', 'bob 0', 'carol 0'] : [`${owner} 0`, `${owner} 1`];
    for (const name of held) await take(name);
    const waits = Promise.resolve(semaphore.acquire(owner)).catch((thrown) => thrown);
    vi.advanceTimersByTime(99);
    expect(semaphore.waiting).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await waits).toBe(error);
    expect([semaphore.used, semaphore.waiting]).toEqual([held.length, 0]);
    for (const name of held) release(name);
    await settle();
    expect(semaphore.used).toBe(0);
    expect(semaphore.acquire(owner)).not.toBeInstanceOf(Promise);
  });

  test('is not refused once it has its permit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { taken, take, release } = scene({ permits: 1, maxWait: 100, maxWaiting: 8 });
    await take('alice 0');
    const waits = take('bob 0');
    release('alice 0');
    await waits;
    expect(vi.getTimerCount()).toBe(0);
    expect(taken).toEqual(['alice 0', 'bob 0']);
  });
});

test('a caller that leaves waits no more, and what is free goes to the next; later it has no effect', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { semaphore, take, taken, release } = scene({ permits: 1, maxWait: 100, maxWaiting: 8 });
  await take('mallory 0');
  const left: Disposable[] = [];
  const gone = semaphore.acquire('alice', (waiting) => left.push(waiting)) as Promise<Permit>;
  const next = take('bob 0');
  left[0]![Symbol.dispose]();
  expect(semaphore.waiting).toBe(1);
  await expect(gone).rejects.toBe(CLIENT_LEFT);
  left[0]![Symbol.dispose]();
  release('mallory 0');
  await next;
  expect(taken).toEqual(['mallory 0', 'bob 0']);
  expect([semaphore.used, semaphore.waiting, vi.getTimerCount()]).toEqual([1, 0, 0]);
});

test('beyond maxWaiting the callers of one owner are refused at once, and those of others wait', async () => {
  const { semaphore, take, taken, release } = scene({ permits: 1, maxWaiting: 2 });
  await take('mallory 0');
  const waiting = [take('alice 0'), take('alice 1')];
  await expect(take('alice 2')).rejects.toBe(OVERLOADED);
  waiting.push(take('bob 0'));
  expect(semaphore.waiting).toBe(3);
  for (const name of ['mallory 0', 'alice 0', 'bob 0']) {
    release(name);
    await settle();
  }
  await Promise.all(waiting);
  expect(taken).toEqual(['mallory 0', 'alice 0', 'bob 0', 'alice 1']);
});

test('a permit that is released twice is free once', async () => {
  const { semaphore, take, release } = scene({ permits: 2, maxWaiting: 8 });
  await take('alice 0');
  await take('alice 1');
  release('alice 0');
  release('alice 0');
  expect(semaphore.used).toBe(1);
});

test('owners that got no permit are not remembered, however many there are', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { semaphore, take } = scene({ permits: 1, maxWait: 100, maxWaiting: 1 });
  await take('mallory 0');
  const before = liveBytes();
  for (let round = 0; round < 20; round++) {
    const owners = Array.from({ length: 500 }, () => randomBytes(1_000).toString('hex'));
    const waiting = owners.flatMap((owner) => [semaphore.acquire(owner), semaphore.acquire(owner)]);
    const refused = Promise.allSettled(waiting);
    vi.advanceTimersByTime(100);
    await refused;
  }
  expect(liveBytes() - before).toBeLessThan(8_000_000);
  expect([semaphore.used, semaphore.waiting]).toEqual([1, 0]);
});

test('nor are those that gave theirs back', () => {
  const { semaphore } = scene({ permits: 1, maxWaiting: 1 });
  const before = liveBytes();
  for (let served = 0; served < 1_000; served++)
    (semaphore.acquire(randomBytes(4_000).toString('hex')) as Disposable)[Symbol.dispose]();
  expect(liveBytes() - before).toBeLessThan(2_000_000);
});

/** Bytes of the heap that are in use. */
function liveBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}
