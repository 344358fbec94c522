import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { rebuildReadModel } from '../../src/audit/rebuild/rebuild.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { hashOf } from '../../src/log/event/chain.ts';
import { openLog } from '../../src/log/log.ts';
import type { Store } from '../../src/log/store.ts';
import { BrokenTreeError } from '../../src/log/tree/nodes.ts';
import { Tree } from '../../src/log/tree/tree.ts';
import { sha256 } from '../../src/tlog/hash.ts';
import { treeHash } from '../../src/tlog/tree.ts';
import { CHECKPOINT_INTERVAL, LogCheckpoints } from '../../src/transparency/checkpoints.ts';
import { openLogKey } from '../../src/transparency/log-key.ts';
import { encoded } from '../support/encoded.ts';
import { added, append, project } from '../support/events.ts';
import { override, withoutProjector } from '../support/faulty-store.ts';
import { rootOf } from '../support/tree.ts';
import { verdictOf } from './audit-tampering.ts';
import { type OpenStore, withStore } from './open-store.ts';

const plants = (count: number, from = 0) =>
  Array.from({ length: count }, (_, id) => added('alice', BigInt(from + id), `Plant ${from + id}`));

const hashes = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => sha256(Buffer.from(`${from + at}`)));

/** The log opened as a service has it, with its builder at work until `work` is over. */
async function whileBuilding<T>(store: Store, work: () => Promise<T>): Promise<T> {
  const faults: unknown[] = [];
  const log = await openLog(override(store, { close: async () => {} }), { onFault: (error) => faults.push(error) });
  try {
    return await work();
  } finally {
    await log.close();
    expect(faults).toEqual([]);
  }
}

/** What a BrokenTreeError has. */
const broken = (level: number, index: number, why: string) => ({ name: 'BrokenTreeError', level, index, why });

/** Loses a node of level 1 between others. */
async function loseNode({ tree }: Store, index: number): Promise<void> {
  const nodes = await tree.read(1, index + 1, await tree.count(1));
  await tree.truncate(1, index);
  await tree.write(1, index + 1, nodes);
}

const untilBuilt = async (store: Store, nodes: number): Promise<void> => {
  while ((await store.tree.count(1)) < nodes) await new Promise((resolve) => setTimeout(resolve, 20));
};

const drain = async (steps: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of steps);
};

/** What the tree of every store has to keep. */
export function treeContract(open: OpenStore): void {
  const on = withStore(open);

  describe('the tree', () => {
    test(
      'nodes are read as they were written, up to a gap, and written again',
      on(async ({ store: { tree } }) => {
        expect(await tree.count(1)).toBe(0);
        await tree.write(1, 0, hashes(300));
        await tree.write(1, 301, hashes(10, 301));
        await tree.write(2, 0, hashes(1, 1_000));
        expect([await tree.count(1), await tree.count(2), await tree.count(3)]).toEqual([311, 1, 0]);
        const plain = async (level: number, start: number, end: number) =>
          (await tree.read(level, start, end)).map((hash) => Buffer.from(hash));
        expect(await plain(1, 0, 256)).toEqual(hashes(256));
        expect(await plain(1, 290, 400)).toEqual(hashes(10, 290));
        expect(await plain(1, 300, 301)).toEqual([]);
        expect(await plain(2, 0, 5)).toEqual(hashes(1, 1_000));
        await tree.write(1, 299, hashes(2, 299));
        expect(await plain(1, 0, 400)).toEqual(hashes(311));
        await tree.truncate(1, 5);
        expect([await tree.count(1), await tree.count(2)]).toEqual([5, 1]);
      }),
    );

    test(
      'a log has one id for good, and another log another',
      on(async ({ store, second }) => {
        expect(await store.logId()).toMatch(/^[0-9a-f]{32}$/);
        expect(await (await second()).logId()).toBe(await store.logId());
        const other = await open();
        expect(await other.store.logId()).not.toBe(await store.logId());
        await other.cleanup();
      }),
    );

    test(
      'all who use a log have one key for owners, until it is renewed',
      on(async ({ store, second }) => {
        const other = await second();
        const key = await store.ownerKey();
        expect([key.length, await other.ownerKey(), await store.ownerKey()]).toEqual([32, key, key]);
        const renewed = await store.ownerKey(true);
        expect(renewed).not.toEqual(key);
        expect([await store.ownerKey(), await other.ownerKey()]).toEqual([renewed, renewed]);
      }),
    );

    test(
      'it has the root of the events at every size, built or not',
      on(async ({ store }) => {
        const events = await append(store, ...plants(1_100));
        const sizes = [0, 1, 255, 256, 257, 512, 700, 1_024, 1_100];
        const expectRoots = async () => {
          const tree = new Tree(store);
          for (const size of sizes)
            expect(await treeHash(size, tree.at(size)), `${size}`).toEqual(rootOf(events.slice(0, size)));
        };
        await expectRoots();
        expect(await store.tree.count(1)).toBe(0);
        await project(store);
        await whileBuilding(store, () => untilBuilt(store, 4));
        await expectRoots();
      }),
    );

    test(
      'it is built while events come in, from what is heard and from what was there, by one instance or two',
      on(async ({ store, second }) => {
        const events = await append(store, ...plants(600));
        const other = await second();
        await whileBuilding(store, () =>
          whileBuilding(other, async () => {
            for (let from = 600; from < 2_700; from += 300) {
              events.push(...(await append(store, ...plants(300, from))));
              await new Promise((resolve) => setTimeout(resolve, 30));
              // What came since the last step is built from what was heard.
              if (from % 600 === 0) await untilBuilt(store, Math.floor((from + 300) / 256));
            }
            await untilBuilt(store, 10);
          }),
        );
        expect(await treeHash(2_700, new Tree(store).at(2_700))).toEqual(rootOf(events));
        expect((await verdictOf(store)).places).toEqual({});
        expect(await store.tree.count(1)).toBe(10);
      }),
    );

    test(
      'a reader is refused rather than made to wait for the nodes of a long log',
      on(async ({ store }) => {
        await append(store, ...plants(600));
        const tree = new Tree(store, { maxUnbuilt: 256 });
        await expect(treeHash(600, tree.at(600))).rejects.toMatchObject({ reason: 'OVERLOADED' });
        await project(store);
        await whileBuilding(store, () => untilBuilt(store, 2));
        await treeHash(600, tree.at(600));
      }),
    );

    test(
      'no checkpoint is signed of a log that no longer begins with the one before',
      on(async ({ store }) => {
        await append(store, ...plants(600));
        await project(store);
        await whileBuilding(store, () => untilBuilt(store, 2));
        const { privateKey } = generateKeyPairSync('ed25519');
        const settings = { auditSigningKey: privateKey, dataDirectory: '', logOrigin: 'log.example' };
        const key = () => openLogKey(settings, store);
        const head = () => store.head();
        const checkpoints = new LogCheckpoints({ head, nodes: store.tree, tree: new Tree(store), key });
        expect((await checkpoints.latest()).size).toBe(600);
        await append(store, ...plants(10, 600));
        await store.tree.write(1, 1, hashes(1));
        await new Promise((resolve) => setTimeout(resolve, CHECKPOINT_INTERVAL + 50));
        await expect(checkpoints.latest()).rejects.toThrow(PlantStoreError);
        await expect(checkpoints.latest()).rejects.toMatchObject({ cause: broken(1, 1, 'is not that of its events') });
        await drain(rebuildReadModel(store));
        // A fault stands for a moment.
        await expect.poll(async () => (await checkpoints.latest()).size, { timeout: 10_000 }).toBe(610);
      }),
    );

    test.each([
      ['lost', (store: Store) => loseNode(store, 1), broken(1, 1, 'is missing')],
      ['changed', (store: Store) => store.tree.write(1, 1, hashes(1)), broken(1, 1, 'is not that of its events')],
      [
        'cut short',
        (store: Store) => store.tree.write(1, 1, [hashes(1)[0]!.subarray(1)]),
        broken(1, 1, 'is malformed'),
      ],
    ])('of a tree with a node that was %s nothing is signed or served that needs it', (_, damage, fault) =>
      on(async ({ store }) => {
        await append(store, ...plants(1_100));
        await project(store);
        await whileBuilding(store, () => untilBuilt(store, 4));
        await damage(store);
        const settings = {
          auditSigningKey: generateKeyPairSync('ed25519').privateKey,
          dataDirectory: '',
          logOrigin: 'log.example',
        };
        const head = () => store.head();
        const faults: unknown[] = [];
        const tree = new Tree(store, { onBroken: (found) => faults.push(found) });
        const key = () => openLogKey(settings, store);
        const checkpoints = new LogCheckpoints({ head, nodes: store.tree, tree, key });
        await expect(checkpoints.latest()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE', cause: fault });
        await expect(tree.readTile({ level: 0, index: 1, width: 256 })).rejects.toMatchObject(fault);
        expect(faults).toContainEqual(expect.objectContaining(fault));
        await tree.readTile({ level: 0, index: 2, width: 256 });
        expect((await verdictOf(store)).places).toEqual({ tree: 512 });
        await drain(rebuildReadModel(store));
        await expect.poll(async () => (await checkpoints.latest()).size, { timeout: 10_000 }).toBe(1_100);
        expect((await verdictOf(store)).places).toEqual({});
      })(),
    );

    test(
      'an event that was changed is not taken for a node that is wrong, wherever in its tile',
      on(async ({ store }) => {
        const events = await append(store, ...plants(600));
        await project(store);
        await whileBuilding(store, () => untilBuilt(store, 2));
        for (const position of [257, 400, 512]) {
          const changed = override(store, {
            async *read(...args: Parameters<Store['read']>) {
              for await (const batch of store.read(...args))
                yield batch.map((event) => {
                  if (event.position !== position) return event;
                  const other = encoded({ ...event, eventId: 'another' });
                  return { ...other, hash: hashOf(events[position - 2]!.hash, other) };
                });
            },
          });
          await expect(new Tree(changed).readTile({ level: 0, index: 1, width: 256 })).rejects.toMatchObject({
            name: 'BrokenChainError',
            position: position + 1,
          });
        }
      }),
    );

    test(
      'the log finds by itself, and once, that a node is lost or wrong, and that the tree is mended',
      on(async ({ store }) => {
        await append(store, ...plants(1_100));
        await project(store);
        await whileBuilding(store, () => untilBuilt(store, 4));
        await loseNode(store, 2);
        const told: (string | undefined)[] = [];
        const log = await openLog(override(store, { close: async () => {} }), {
          onFault: () => {},
          onTree: (fault) => told.push(fault?.message),
        });
        const missing = expect.stringContaining('broken: node 2 of level 1 is missing: run plantstore audit verify');
        await expect.poll(() => told, { timeout: 10_000 }).toEqual([missing]);
        log.treeBroken(new BrokenTreeError(1, 0, 'is not that of its events'));
        expect(told).toHaveLength(1);
        await drain(rebuildReadModel(store));
        await expect.poll(() => told, { timeout: 10_000 }).toEqual([missing, undefined]);
        await store.tree.write(1, 0, hashes(1));
        log.treeBroken(new BrokenTreeError(1, 0, 'is not that of its events'));
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        expect(told).toHaveLength(3);
        await drain(rebuildReadModel(store));
        await expect.poll(() => told, { timeout: 10_000 }).toHaveLength(4);
        expect(told[3]).toBeUndefined();
        await log.close();
      }),
    );

    test(
      'the last nodes, lost under a builder, are made again, and leave no gap',
      on(async ({ store }) => {
        await append(store, ...plants(1_100));
        await project(store);
        const faults: unknown[] = [];
        const log = await openLog(override(store, { close: async () => {} }), {
          onFault: (error) => faults.push(error),
        });
        await untilBuilt(store, 4);
        await store.tree.truncate(1, 1);
        await append(store, ...plants(300, 1_100));
        await untilBuilt(store, 5);
        await log.close();
        expect(faults).toEqual([
          expect.objectContaining({ message: expect.stringContaining('from node 1 of level 1') }),
        ]);
        expect((await verdictOf(store)).places).toEqual({});
      }),
    );

    test(
      'a full tile of nodes that do not make the node above them is not read',
      on(async ({ store }) => {
        await store.tree.write(1, 0, hashes(256));
        const read = () => new Tree(store).readTile({ level: 1, index: 0, width: 256 });
        expect(await read()).toEqual(Buffer.concat(hashes(256)));
        await store.tree.write(2, 0, hashes(1));
        await expect(read()).rejects.toMatchObject(broken(2, 0, 'is not that of the nodes below it'));
      }),
    );

    test(
      'an event that is missing is named, and nothing is built or served past it',
      on(async ({ store }) => {
        await append(store, ...plants(600));
        const holed = override(store, {
          async *read(...args: Parameters<Store['read']>) {
            for await (const events of store.read(...args)) yield events.filter(({ position }) => position !== 300);
          },
        });
        const lost = { name: 'BrokenChainError', position: 300 };
        await expect(treeHash(600, new Tree(holed).at(600))).rejects.toMatchObject(lost);
        const beyond = new Tree(store).readTile({ level: 0, index: 2, width: 100 });
        await expect(beyond).rejects.toMatchObject({ name: 'BrokenChainError', position: 601 });
        await project(store);
        const faults: unknown[] = [];
        const log = await openLog(override(holed, { close: async () => {} }), {
          onFault: (error) => faults.push(error),
        });
        await expect.poll(() => faults).toContainEqual(expect.objectContaining(lost));
        await log.close();
        expect(await store.tree.count(1)).toBe(0);
      }),
    );

    test(
      'who does not lead builds nothing',
      on(async ({ store }) => {
        await append(store, ...plants(600));
        await project(store);
        await whileBuilding(withoutProjector(store), () => new Promise((resolve) => setTimeout(resolve, 300)));
        expect(await store.tree.count(1)).toBe(0);
      }),
    );

    test(
      'a node that is wrong is found by verify, one of no events too, and both are mended by rebuild',
      on(async ({ store }) => {
        const events = await append(store, ...plants(1_100));
        await project(store);
        await whileBuilding(store, () => untilBuilt(store, 4));
        await store.tree.write(1, 2, hashes(1));
        expect((await verdictOf(store)).places).toEqual({ tree: 768 });
        await drain(rebuildReadModel(store));
        expect((await verdictOf(store)).places).toEqual({});
        await store.tree.write(1, 4, hashes(3));
        await store.tree.write(2, 0, hashes(1));
        expect((await verdictOf(store)).places).toEqual({ tree: 1_101 });
        await drain(rebuildReadModel(store));
        expect((await verdictOf(store)).places).toEqual({});
        expect([await store.tree.count(1), await store.tree.count(2)]).toEqual([4, 0]);
        expect(await treeHash(1_100, new Tree(store).at(1_100))).toEqual(rootOf(events));
      }),
    );
  });
}
