import { expect, test, vi } from 'vitest';
import { openLog } from '../../src/log/log.ts';
import { Metrics } from '../../src/observe/metrics/metrics.ts';
import { logGauges } from '../../src/start/gauges.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, project } from '../support/events.ts';
import { override, withoutProjector } from '../support/faulty-store.ts';

async function lastOf<Item>(items: AsyncIterable<Item>): Promise<Item | undefined> {
  let last: Item | undefined;
  for await (const item of items) last = item;
  return last;
}

test('an instance that may not erase holds up none that may', async () => {
  const { store, second } = await openMemoryStore();
  const may = openLog(await second(), { onFault: () => {} });
  const mayNot = override(store, {
    // biome-ignore lint/correctness/useYield: it fails before the first piece
    async *eraseContents() {
      throw new Error('not authorized');
    },
  });
  await append(store, added('gone', 1n));
  await project(store);
  const key = Buffer.alloc(16, 7);
  const first = await openLog(mayNot, { onFault: () => {} });
  const erasing = first.erase({ owner: 'gone', actor: 'operator', key });
  await expect(lastOf(erasing)).rejects.toThrow('not authorized');
  first.finishErasures(() => {});
  const log = await may;
  const outcome = await lastOf(log.erase({ owner: 'gone', actor: 'operator', key }));
  expect(outcome).toMatchObject({ position: 2, events: 1 });
  for (const each of [first, log]) await each.close();
});

test('an erasure that a read model which stands still holds up is told as such, after a minute without any step of it', async () => {
  const { store } = await openMemoryStore();
  await append(store, added('gone', 1n));
  const log = await openLog(withoutProjector(store), { onFault: () => {} });
  const erasing = log.erase({ owner: 'gone', actor: 'operator' });
  for (let steps = 0; steps < 5; steps++) await erasing.next();
  const { now } = performance;
  using _clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 61_000);
  const refused = async () => {
    for (let steps = 0; steps < 20; steps++) await erasing.next();
  };
  await expect(refused()).rejects.toMatchObject({ reason: 'OWNER_BEING_ERASED' });
  await log.close();
});

test('a clock that was a year ahead is told by the log, and does not hide how long an erasure waits', async () => {
  const { store } = await openMemoryStore();
  await append(store, added('gone', 1n));
  const log = await openLog(store, { onFault: () => {} });
  const { now } = Date;
  const ahead = vi.spyOn(Date, 'now').mockImplementation(() => now() + 365 * 86_400_000);
  // Nothing moves the read model.
  const erasing = log.erase({ owner: 'gone', actor: 'operator' });
  while (log.status.erasures.count === 0) await erasing.next();
  ahead.mockRestore();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const metrics = new Metrics();
  logGauges(metrics, log);
  const told = await metrics.values();
  expect(told.plantstore_log_ahead_seconds).toBeGreaterThan(364 * 86_400);
  expect(told.plantstore_erasures_pending).toBe(1);
  expect(told.plantstore_erasure_oldest_seconds).toBeGreaterThan(0);
  expect(told.plantstore_erasure_oldest_seconds).toBeLessThan(60);
  await erasing.return?.(undefined as never);
  await log.close();
});
