import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { ForwardResponseSchema } from '../../gen/plantstore/internal/v1/forwarding_service_pb.ts';
import { OwnAppends } from '../../src/log/commit/own-appends.ts';
import type { LinkListener } from '../../src/log/forward/link.ts';
import { openLog } from '../../src/log/log.ts';
import { openSqliteStore } from '../store/open-sqlite.ts';
import { added, append } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';

test('an append that lands ends the failedQuestions about commands sent before it, and one that does not ends none', () => {
  const appends = new OwnAppends();
  appends.saw(5);
  expect(appends.ownAfter(4)).toBe(false);
  // Another instance has taken position 6.
  appends.appended(5, 0);
  expect([4, 5].map((position) => appends.ownAfter(position))).toEqual([false, false]);
  appends.saw(6);
  appends.appended(6, 2);
  expect([7, 8].map((position) => appends.ownAfter(position))).toEqual([true, false]);
});

test('what others appended is told from what was appended here', () => {
  const appends = new OwnAppends();
  appends.saw(3);
  expect([2, 3].map((position) => appends.othersAfter(position))).toEqual([true, false]);
  appends.appended(3, 2);
  appends.saw(5);
  expect(appends.othersAfter(3)).toBe(false);
  appends.saw(6);
  expect([5, 6].map((position) => appends.othersAfter(position))).toEqual([true, false]);
});

describe.each([
  ['a refusal', undefined, 'PLANT_ALREADY_EXISTS'],
  ['the answer of an earlier event', 'once', 1],
])('%s, for a command whose link to the writer has ended', (_, idempotencyKey, told) => {
  const WRITER = { holder: 'other', address: 'other', secret: '' };
  const nothing = () => {};

  /** A log that has plant 1 and has forwarded an addition of plant 1 to a writer that never tells the outcome. */
  async function inDoubt(commitLimit: number) {
    const { store, cleanup } = await openSqliteStore();
    const led = override(store, { lease: async () => false, leaseholder: async () => WRITER });
    const log = await openLog(led, { onFault: nothing, limits: { commitLimit } });
    const add = (id: bigint, key?: string) => {
      const plant = { id, name: 'Fern', tag: undefined };
      return log.submit({ type: 'AddPlant', owner: 'alice', actor: 'alice', plant, idempotencyKey: key });
    };
    // Here, since it has joined no others: it was in no doubt.
    await add(1n, idempotencyKey);
    const sent = Promise.withResolvers<LinkListener>();
    let [links, sends] = [0, 0];
    log.join({
      ...{ contact: () => ({ address: 'this' }), onReachable: nothing, onFault: nothing },
      openLink: (_writer, listener) => {
        links++;
        setImmediate(() => listener.answered(create(ForwardResponseSchema, { position: 1n })));
        const send = () => {
          sends++;
          sent.resolve(listener);
          return true;
        };
        return { send, finish: () => listener.ended(undefined), close: nothing };
      },
    });
    const isLinked = (times: number) => expect.poll(() => [links, log.status.role]).toEqual([times, 'forwards']);
    await isLinked(1);
    const answer = add(1n, idempotencyKey).then(
      ({ position }) => position,
      (error) => error.reason,
    );
    (await sent.promise).ended(new Error('cut'));
    const close = async () => {
      await log.close();
      await cleanup();
    };
    return { answer, add, isLinked, sends: () => sends, close };
  }

  test('is told once another command of the instance has landed, which goes to no new link, and not before', async () => {
    const { answer, add, isLinked, sends, close } = await inDoubt(10_000);
    let isTold = false;
    void answer.then(() => {
      isTold = true;
    });
    await isLinked(2);
    expect(isTold).toBe(false);
    expect(await add(2n)).toMatchObject({ position: 2 });
    expect(await answer).toBe(told);
    expect(sends()).toBe(1);
    await close();
  });

  test('is told as unknown when its time is over and nothing has made it certain', async () => {
    const { answer, close } = await inDoubt(500);
    expect(await answer).toBe('OUTCOME_UNKNOWN');
    await close();
  });
});

test('a command that was about to be sent when its link ended is in no doubt: its refusal waits for nothing', async () => {
  const { store, cleanup } = await openSqliteStore();
  await append(store, added('alice', 1n));
  const writer = { holder: 'other', address: 'other', secret: '' };
  const led = override(store, { lease: async () => false, leaseholder: async () => writer });
  const log = await openLog(led, { onFault: () => {}, limits: { commitLimit: 2_000 } });
  let sends = 0;
  let listener: LinkListener | undefined;
  log.join({
    ...{ contact: () => ({ address: 'this' }), onReachable: () => {}, onFault: () => {} },
    openLink: (_writer, given) => {
      listener = given;
      setImmediate(() => given.answered(create(ForwardResponseSchema, { position: 1n })));
      return { send: () => void sends++, finish: () => given.ended(undefined), close: () => {} };
    },
  });
  await expect.poll(() => log.status.role).toBe('forwards');
  const plant = { id: 1n, name: 'Fern', tag: undefined };
  const answer = log.submit({ type: 'AddPlant', owner: 'alice', actor: 'alice', plant });
  // Commands are sent in the next turn of the event loop.
  listener!.ended(new Error('cut'));
  await expect(answer).rejects.toMatchObject({ reason: 'PLANT_ALREADY_EXISTS' });
  expect(sends).toBe(0);
  await log.close();
  await cleanup();
});
