import { expect, onTestFinished, test } from 'vitest';
import { openLog } from '../../src/log/log.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { ALICE } from '../support/principal.ts';

/** Milliseconds after which an instance looks again whether what it has may be told. */
const CHECK_INTERVAL = 250;

test('an instance that was frozen while an owner was erased tells a watch nothing that it has from before', async () => {
  const { store, second } = await openMemoryStore();
  await append(store, ...Array.from({ length: 200 }, (_, id) => added('gone', BigInt(id), 'a name'.repeat(170))));
  await project(store);
  let thawed = Promise.resolve();
  const later =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    async (...args: Args) => {
      await thawed;
      return call(...args);
    };
  const mine = await second();
  const frozen = override(mine, {
    head: later(() => mine.head()),
    checkpoint: later(() => mine.checkpoint()),
    lease: later(async () => false),
  });
  const [log, other] = [await openLog(store, { onFault: () => {} }), await openLog(frozen, { onFault: () => {} })];
  const watches = new Watches(other, { maxWatches: 1, maxOwnerWatches: 1 });
  onTestFinished(async () => {
    for (const each of [log, other]) await each.close();
  });
  const viewer = { unsent: 0, news: () => {}, quiet: () => {}, ended: () => {} };
  const watch = watches.open({ ...ALICE, owner: 'gone' }, viewer);
  const pieces = (await watch.begin(undefined))[Symbol.asyncIterator]();
  expect((await pieces.next()).value).not.toEqual([]);
  const thaw = Promise.withResolvers<void>();
  thawed = thaw.promise;
  for await (const _ of log.erase({ owner: 'gone', actor: 'operator' }));
  await new Promise((resolve) => setTimeout(resolve, 2 * CHECK_INTERVAL));
  // The look at the head, which is under way, takes longer than the one at the rows.
  setTimeout(() => thaw.resolve(), 50);
  await expect(pieces.next()).rejects.toMatchObject({ reason: 'OVERLOADED' });
});

test('the outcome of an erasure waits until every instance must have looked again', async () => {
  const { store } = await openMemoryStore();
  await append(store, added('gone', 1n, 'a name'));
  let ended = Number.POSITIVE_INFINITY;
  const timed = override(store, {
    endErasures: async (...about) => {
      await store.endErasures(...about);
      ended = performance.now();
    },
  });
  const log = await openLog(timed, { onFault: () => {} });
  onTestFinished(() => log.close());
  for await (const _ of log.erase({ owner: 'gone', actor: 'operator' }));
  expect(performance.now() - ended).toBeGreaterThan(CHECK_INTERVAL);
});
