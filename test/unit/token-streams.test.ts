import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AuditService, ListPlantsAsOfRequestSchema } from '../../gen/plantstore/v1/audit_service_pb.ts';
import { PlantStoreService } from '../../gen/plantstore/v1/plant_store_service_pb.ts';
import { readModelCheck } from '../../src/audit/checks/read-model.ts';
import { Fold } from '../../src/audit/fold/fold.ts';
import { implementAudit } from '../../src/audit/service.ts';
import { createScopePolicy } from '../../src/auth/principal.ts';
import type { Validity } from '../../src/auth/validity.ts';
import { headAt, seal } from '../../src/log/event/chain.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { type EventLog, openLog } from '../../src/log/log.ts';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import type { Selection, Store } from '../../src/log/store.ts';
import { Tree } from '../../src/log/tree/tree.ts';
import { implementPlantStore } from '../../src/plants/implementation.ts';
import { implementReceipts } from '../../src/plants/receipts.ts';
import { PlantsService } from '../../src/plants/service.ts';
import { Watches } from '../../src/plants/watch/watches.ts';
import { Semaphore } from '../../src/semaphore.ts';
import { openMemoryStore } from '../simulation/store/open-memory.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { ALICE, LASTING } from '../support/principal.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const directory = temporaryDirectory(afterAll);
let store: Store;
let log: EventLog;

beforeAll(async () => {
  store = openSqlite(directory);
  await append(store, added('alice', 1n), added('alice', 2n));
  log = await openLog(store, { onFault: () => {} });
});

afterAll(async () => {
  await log.close();
});

type Streaming = (request: unknown, call: object) => AsyncIterable<object>;

const missing = () => Promise.reject(new Error('no key is needed'));
const checkpoints = { latest: missing };

const auditOf = (audited: Store) =>
  implementAudit({
    ...{ log, store: audited, scopes: createScopePolicy([]), checkpoints },
    key: missing,
    checks: async () => [],
    onVerdict: () => {},
  });

/** Every method that streams, of every service, by its name: a new one is here by itself. */
function streams(): readonly (readonly [string, object, Streaming])[] {
  const scopes = createScopePolicy([]);
  const proofs = new Semaphore({ permits: 1, maxWaiting: 1 });
  const receipts = implementReceipts({
    store,
    head: () => store.head(),
    tree: new Tree(store),
    checkpoints,
    scopes,
    proofs,
  });
  const services = [
    {
      desc: PlantStoreService,
      methods: implementPlantStore(
        new PlantsService(log, scopes, new Watches(log, { maxWatches: 10, maxOwnerWatches: 10 })),
        receipts,
      ),
    },
    {
      desc: AuditService,
      methods: auditOf(store),
    },
  ];
  return services.flatMap(({ desc, methods }) =>
    desc.methods
      .filter(({ methodKind }) => methodKind === 'server_streaming')
      .map((method) => {
        const request = create(method.input, method.name === 'GetHistory' ? { owner: 'alice', plantId: 1n } : {});
        return [method.name, request, (methods as never)[method.localName] as Streaming] as const;
      }),
  );
}

async function messagesOf(
  [name, request, stream]: ReturnType<typeof streams>[number],
  validity: Validity,
  taken: object[] = [],
) {
  const principal = { ...ALICE, scopes: new Set(['plants:audit']), validity };
  const call = { principal, signal: new AbortController().signal };
  for await (const message of stream(request, call)) {
    taken.push(message);
    // This one has no end.
    if (name === 'WatchPlants') break;
  }
  return taken;
}

test('no method of any service streams a message to a token that has ended', async () => {
  const over = new Error('over');
  const ended: Validity = { until: 0, holds: false, confirm: () => Promise.reject(over) };
  const all = streams();
  expect(all.map(([name]) => name).sort()).toEqual(
    expect.arrayContaining(['GetHistory', 'ListPlantsAsOf', 'ReadEvents', 'StreamPlants', 'VerifyLog', 'WatchPlants']),
  );
  for (const stream of all) {
    expect((await messagesOf(stream, LASTING)).length, stream[0]).toBeGreaterThan(0);
    const taken: object[] = [];
    await expect(messagesOf(stream, ended, taken), stream[0]).rejects.toBe(over);
    expect(taken, stream[0]).toEqual([]);
  }
});

test.each(['ListPlantsAsOf', 'GetHistory', 'VerifyLog'])(
  '%s ends for the reason of a caller that leaves, and not as if the store could not be reached',
  async (name) => {
    const [, request, stream] = streams().find(([method]) => method === name)!;
    const left = new Error('left');
    const principal = { ...ALICE, scopes: new Set(['plants:audit']), validity: LASTING };
    const messages = stream(request, { principal, signal: AbortSignal.abort(left) });
    await expect(messages[Symbol.asyncIterator]().next()).rejects.toBe(left);
  },
);

test('plants as of a moment are read no further for an auditor who has left, whose permit then is free', async () => {
  const opened = await openMemoryStore();
  await append(opened.store, ...Array.from({ length: 400 }, (_, id) => added('alice', BigInt(id))));
  let reads = 0;
  const slow = override(opened.store, {
    read: async function* (after, only) {
      for await (const events of opened.store.read(after, only))
        for (let from = 0; from < events.length; from += 10) {
          reads++;
          await sleep(5);
          yield events.slice(from, from + 10);
        }
    },
  });
  const methods = auditOf(slow);
  const left = new AbortController();
  const principal = { ...ALICE, scopes: new Set(['plants:audit']) };
  const list = methods.listPlantsAsOf(create(ListPlantsAsOfRequestSchema), { principal, signal: left.signal });
  const first = list[Symbol.asyncIterator]().next();
  await expect.poll(() => reads).toBeGreaterThan(2);
  left.abort(new Error('left'));
  await expect(first).rejects.toThrow('left');
  expect(reads).toBeLessThan(40);
});

/** Finds nothing until its signal aborts, as a search of a long log does. */
async function* searching(_: number, { signal }: Selection = {}): AsyncGenerator<LoggedEvent[]> {
  while (signal?.aborted !== true) await sleep(1);
  signal.throwIfAborted();
  yield [];
}

const drained = async (messages: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of messages);
};

/** The n-th read of a store, and those after it, find nothing. */
const searchingFrom = (store: Store, nth: number): Partial<Store> => {
  let reads = 0;
  return { read: (after, only) => (++reads < nth ? store.read(after, only) : searching(after, only)) };
};

const LONG_STEPS: readonly [string, string, object, (store: Store) => Partial<Store>][] = [
  ['a history of no events', 'GetHistory', { owner: 'nobody', plantId: 1n }, (store) => searchingFrom(store, 1)],
  ['the plants of an owner without events', 'ListPlantsAsOf', { owner: 'nobody' }, (store) => searchingFrom(store, 1)],
  ["the database's check of itself", 'VerifyLog', {}, () => ({ fault: () => new Promise(() => {}) })],
  ['the pass over the log', 'VerifyLog', {}, (store) => searchingFrom(store, 1)],
  ['the second count of contents', 'VerifyLog', {}, (store) => searchingFrom(store, 2)],
  ['the fold up to the read model', 'VerifyLog', {}, (store) => searchingFrom(store, 3)],
  ['the decisions after the read model', 'VerifyLog', {}, (store) => searchingFrom(store, 4)],
];

test.each(LONG_STEPS)('an auditor who leaves during %s gives the permit back', async (_, name, fields, long) => {
  const { store: memory } = await openMemoryStore();
  const [, last] = await append(memory, added('alice', 1n), added('bob', 1n));
  // It has removed nothing, so contents are counted again.
  await memory.append([seal(headAt(last!), { type: 'OwnerErased', actor: 'operator', erased: 1 }, 'id', 0)]);
  let instead: Partial<Store> = {};
  const current = override(memory, {
    read: (after, only) => (instead.read ?? memory.read.bind(memory))(after, only),
    fault: () => (instead.fault ?? memory.fault.bind(memory))(),
  });
  const method = AuditService.methods.find((each) => each.name === name)!;
  const stream = auditOf(current)[method.localName as 'verifyLog'] as unknown as Streaming;
  const principal = { ...ALICE, scopes: new Set(['plants:audit']) };
  const request = create(method.input, { ...fields });
  const called = (signal: AbortSignal) => drained(stream(request, { principal, signal }));
  // As many as one auditor may make at once.
  for (let call = 1; call <= 2; call++) {
    instead = long(memory);
    const left = new AbortController();
    const ended = expect(called(left.signal)).rejects.toThrow('left');
    await sleep(50);
    left.abort(new Error('left'));
    await ended;
  }
  instead = {};
  await called(new AbortController().signal);
});

test('plants are compared with the read model no further for an auditor who has left', async () => {
  const { store: memory } = await openMemoryStore();
  await append(memory, added('alice', 1n));
  await project(memory);
  const left = new AbortController();
  const audited = override(memory, {
    snapshot: async () => {
      const snapshot = await memory.snapshot();
      const all = snapshot.all.bind(snapshot);
      snapshot.all = () => {
        left.abort(new Error('left'));
        return all();
      };
      return snapshot;
    },
  });
  using fold = new Fold();
  await expect(readModelCheck(audited, 0, fold, () => {}).finish(left.signal)).rejects.toThrow('left');
});
