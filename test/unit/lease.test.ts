import { expect, test, vi } from 'vitest';
import { Lease } from '../../src/log/lease.ts';
import { openLog } from '../../src/log/log.ts';
import { Publisher } from '../../src/publisher/publisher.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';

const REFUSAL = 'may not run update on leases';

const refuse = () => Promise.reject(new Error(REFUSAL));

async function refusingStore() {
  const { store } = await openMemoryStore();
  return override(store, { lease: refuse });
}

test('a lease that was taken lasts, whatever the store says, and then the fault is told', async () => {
  const { store } = await openMemoryStore();
  let isRefused = false;
  const lease = new Lease(override(store, { lease: async () => (isRefused ? refuse() : true) }), 'projector');
  expect(await lease.renew()).toBe(true);
  isRefused = true;
  expect(await lease.renew()).toBe(true);
  await lease.giveBack();
  await expect(lease.has()).rejects.toThrow(REFUSAL);
  // Whoever keeps a lease only has to know that it is lost.
  await lease.keep(new AbortController().signal);
});

test('a projector whose lease is refused says so', async () => {
  const store = await refusingStore();
  await append(store, added('alice', 1n));
  const faults: string[] = [];
  const log = await openLog(store, { onFault: (fault) => void faults.push((fault as Error).message) });
  await vi.waitFor(() => expect(faults).toContain(REFUSAL));
  await log.close();
});

test('an erasure that nobody may finish says why', async () => {
  const { store } = await openMemoryStore();
  await append(store, added('gone', 1n));
  const refused = override(store, {
    lease: (name, ...others) => (name === 'erasure' ? refuse() : store.lease(name, ...others)),
  });
  const log = await openLog(refused, { onFault: () => {} });
  const erasing = async () => {
    for await (const _ of log.erase({ owner: 'gone', actor: 'operator' }));
  };
  await expect(erasing()).rejects.toThrow(REFUSAL);
  const stuck: string[] = [];
  log.finishErasures((error) => void stuck.push((error as Error).message));
  await vi.waitFor(() => expect(stuck).toContain(REFUSAL));
  await log.close();
});

test('a publisher whose lease is refused is degraded, and says why', async () => {
  const changes: unknown[] = [];
  const topic = { open: () => Promise.reject(new Error('nobody may open it')) };
  const publisher = new Publisher({ store: await refusingStore(), topic, onChange: (status) => changes.push(status) });
  await vi.waitFor(() => expect(changes).toMatchObject([{ state: 'degraded', detail: REFUSAL }]));
  await publisher.close();
});
