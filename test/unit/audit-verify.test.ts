import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { contentsCheck } from '../../src/audit/checks/contents.ts';
import { repairReadModel } from '../../src/audit/repair.ts';
import { keyString } from '../../src/domain/plant.ts';
import { headAt, seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import type { Store } from '../../src/log/store.ts';
import { TILE_WIDTH } from '../../src/tlog/tile.ts';
import { atOnce, Database as Memory } from '../simulation/store/database.ts';
import { MemoryStore } from '../simulation/store/memory-store.ts';
import type { State } from '../simulation/store/state.ts';
import { fillForTampering, verdictOf } from '../store/audit-tampering.ts';
import { encoded } from '../support/encoded.ts';
import { added, append, chain, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { type Database, SIGNED, TAMPERINGS, withoutContent } from '../support/tampering.ts';
import { checkpointOf } from '../support/tree.ts';

/** Changes of one event, row or member of what is in memory. */
function tamperingWith(memory: Memory): Database {
  const change = async (changes: (state: State) => Partial<State>) =>
    memory.commit(memory.write((state) => ({ changes: changes(state), result: undefined })).version);
  const others = ({ events }: State, position: number) => events.filter((event) => event.position !== position);
  return {
    putEvent: (event) =>
      change((state) => ({
        events: [...others(state, event.position), encoded(event)].sort((a, b) => a.position - b.position),
      })),
    removeEvent: (position) => change((state) => ({ events: others(state, position) })),
    putPlant: (row) => change(({ rows }) => ({ rows: new Map(rows).set(keyString(row.owner, row.id), row) })),
    removePlant: (owner, id) =>
      change(({ rows }) => ({ rows: new Map([...rows].filter(([key]) => key !== keyString(owner, id))) })),
    setCheckpoint: (checkpoint) => change(() => ({ checkpoint })),
    setUpTo: (upTo) => change(() => ({ upTo })),
    removeCheckpoint: () => change(() => ({ checkpoint: undefined })),
    putNode: (index, hash) => change(({ nodes }) => ({ nodes: new Map(nodes).set(index, hash) })),
    removeNode: (index) => change(({ nodes }) => ({ nodes: new Map([...nodes].filter(([key]) => key !== index)) })),
    keep: () => Promise.reject(new Error('no tampering of this test does this')),
    close: async () => {},
  };
}

/** An empty store, and what tampers with it. */
function open(): { readonly store: Store; readonly memory: Database } {
  const memory = new Memory(randomBytes(16).toString('hex'), Date.now);
  return { store: new MemoryStore(memory, atOnce(memory)), memory: tamperingWith(memory) };
}

// The rest makes an event that cannot be read, which nothing in memory is.
test.each(TAMPERINGS.filter(({ found }) => typeof found === 'object'))(
  '$name: found, with the place',
  async ({ tamper, found }) => {
    const { store, memory } = open();
    const events = await fillForTampering(store);
    const options = { checkpoint: checkpointOf(events.slice(0, SIGNED)) };
    expect((await verdictOf(store, options)).places).toEqual({});
    await tamper(memory, events);
    const { verdict, places } = await verdictOf(store, options);
    expect({ ok: verdict.ok, places }).toEqual({ ok: false, places: found });
  },
);

test.each<[string, (memory: Database) => Promise<void>, number]>([
  ['changed', (memory) => memory.putNode(0, new Uint8Array(32)), TILE_WIDTH],
  ['missing', (memory) => memory.removeNode(0), TILE_WIDTH],
  ['of no events', (memory) => memory.putNode(2, new Uint8Array(32)), 2 * TILE_WIDTH + 2],
  ['far behind those of the events', (memory) => memory.putNode(9, new Uint8Array(32)), 2 * TILE_WIDTH + 2],
  ['before the first', (memory) => memory.putNode(-1, new Uint8Array(32)), 2 * TILE_WIDTH + 2],
])('a node of the tree that is %s is found, with the place', async (_, tamper, position) => {
  const { store, memory } = open();
  await append(store, ...Array.from({ length: 2 * TILE_WIDTH + 1 }, (_, id) => added('alice', BigInt(id))));
  await project(store);
  expect((await verdictOf(store)).places).toEqual({});
  await tamper(memory);
  expect((await verdictOf(store)).places).toEqual({ tree: position });
});

test.each([1, 3])('an erasure of 2 events that says %i is found', async (erased) => {
  const { store, memory } = open();
  const events = await fillForTampering(store);
  const event = { type: 'OwnerErased' as const, actor: 'o', erased };
  await store.append([seal(headAt(events.at(-1)!), event, 'an erasure', Date.now())]);
  for (const bobs of [events[4]!, events[5]!]) await memory.putEvent(withoutContent(bobs, 13));
  expect((await verdictOf(store)).places.contents).toBe(13);
});

test('a topic that gets events while it is opened is compared with a log that has them', async () => {
  const { store } = open();
  await append(store, added('alice', 1n));
  const positions: number[] = [];
  let isClosed = false;
  const checks = async () => {
    await append(store, added('alice', 2n));
    const take = (events: readonly LoggedEvent[]) => void positions.push(...events.map(({ position }) => position));
    const close = async () => {
      isClosed = true;
    };
    return [{ question: 'topic', take, finish: () => undefined, close } as const];
  };
  expect((await verdictOf(store, { checks })).verdict.ok).toBe(true);
  expect(positions).toEqual([1, 2]);
  expect(isClosed).toBe(true);
});

test.each([
  ['is complete before it was read', 2, [], 2],
  ['removes contents that were counted before it was read', 2, [2], undefined],
  ['came after the pass had begun', 1, [], undefined],
])('contents of an owner whose erasure %s', async (_, end, unfinished, place) => {
  const [plant] = chain(EMPTY_HEAD, [added('gone', 1n)]);
  const said = { type: 'OwnerErased', actor: 'operator', erased: 1 } as const;
  const events = [plant!, seal(headAt(plant!), said, crypto.randomUUID(), Date.now())];
  const check = contentsCheck(
    {
      unfinished: async () => unfinished.map((position) => ({ position, erases: { isCleared: false } })),
      async *read() {
        yield events;
      },
    } as unknown as Store,
    end,
  );
  expect(await check.take(events)).toBeUndefined();
  expect((await check.finish())?.position).toBe(place);
});

test('a repair changes no more plants at once than a step of the read model may', async () => {
  const { store, memory } = open();
  const plants = Array.from({ length: 2 * store.advanceLimit + 1 }, (_, id) => added('alice', BigInt(id)));
  await append(store, ...plants);
  await project(store);
  for (const { plantId } of plants) await memory.removePlant('alice', plantId);
  const steps: number[] = [];
  const advance: Store['advance'] = (from, to, changes, nodes) => {
    steps.push(changes.inserts.length);
    return store.advance(from, to, changes, nodes);
  };
  for await (const _ of repairReadModel(override(store, { advance })));
  expect(steps.filter((inserts) => inserts > 0)).toEqual([store.advanceLimit, store.advanceLimit, 1]);
});
