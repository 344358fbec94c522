import { describe, expect, test } from 'vitest';
import { leafHash } from '../../src/log/event/chain.ts';
import { openLog } from '../../src/log/log.ts';
import type { Store } from '../../src/log/store.ts';
import { Tree } from '../../src/log/tree/tree.ts';
import { sha256 } from '../../src/tlog/hash.ts';
import { treeHash } from '../../src/tlog/tree.ts';
import { added, append, project } from '../support/events.ts';
import { override } from '../support/faulty-store.ts';
import { rootOf } from '../support/tree.ts';
import { type OpenStore, withStore } from './open-store.ts';

const plants = (count: number, from = 0) =>
  Array.from({ length: count }, (_, id) => added('alice', BigInt(from + id), `Plant ${from + id}`));

const NO_CHANGES = { deletes: [], inserts: [] };
const WRONG = sha256(Buffer.from('wrong'));

/** Puts a wrong hash, or something shorter, in the place of a node. */
async function changeNode(store: Store, index: number, hash: Uint8Array): Promise<void> {
  const at = await store.checkpoint();
  expect(await store.advance(at, at, NO_CHANGES, { first: index, hashes: [hash] })).toBe(true);
}

/** Takes away the nodes from an index on, as a projector of another time would have left them. */
const withoutNodes = (store: Store, from: number): Store =>
  override(store, { nodes: async (start, end) => store.nodes(start, Math.min(end, from)) });

/** What the tree of every store has to keep. */
export function treeContract(open: OpenStore): void {
  const on = withStore(open);

  describe('the tree', () => {
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
      'it has the root of the events at every size, wherever the read model stands',
      on(async ({ store }) => {
        const events = await append(store, ...plants(1_100));
        const sizes = [0, 1, 255, 256, 257, 512, 700, 1_024, 1_100];
        const remembering = new Tree(store);
        for (const checkpoint of [0, 100, 256, 511, 900, 1_100]) {
          await project(store, checkpoint - (await store.checkpoint()));
          const tree = new Tree(store);
          for (const size of sizes)
            for (const read of [tree, remembering])
              expect(await treeHash(size, read), `${size} of ${checkpoint}`).toEqual(rootOf(events.slice(0, size)));
        }
        expect(await store.nodes(0, 9)).toHaveLength(4);
      }),
    );

    test(
      'what was asked for before all was forgotten is answered',
      on(async ({ store }) => {
        const events = await append(store, ...plants(600));
        await project(store, 600);
        const nodes: Store['nodes'] = async (...range) => {
          const read = await store.nodes(...range);
          tree.forget();
          return read;
        };
        const tree = new Tree(override(store, { nodes }));
        expect(await treeHash(600, tree)).toEqual(rootOf(events));
        const { hashes } = await tree.readBlock(0, 256);
        expect(Buffer.from(hashes)).toEqual(Buffer.concat(events.slice(0, 256).map(leafHash)));
      }),
    );

    test.each([
      ['lost', (store: Store) => withoutNodes(store, 1), 'node 1 of the Merkle tree is missing'],
      ['cut short', (store: Store) => store, 'node 1 of the Merkle tree is malformed'],
    ])('a node that is %s is named, and nothing that needs it is read', (_, lossy, why) =>
      on(async ({ store }) => {
        await append(store, ...plants(1_100));
        await project(store);
        await changeNode(store, 1, WRONG.subarray(1));
        const tree = new Tree(lossy(store));
        const fault = { name: 'BrokenTreeError', why };
        await expect(treeHash(1_100, tree)).rejects.toMatchObject(fault);
        await expect(tree.readTile({ level: 1, index: 0, width: 4 })).rejects.toMatchObject(fault);
        await expect(tree.readTile({ level: 0, index: 1, width: 256 })).rejects.toMatchObject(fault);
        await tree.readTile({ level: 0, index: 4, width: 76 });
      })(),
    );

    test(
      'an event that is missing is named, and nothing is written or served past it',
      on(async ({ store }) => {
        await append(store, ...plants(600));
        const holed = override(store, {
          async *read(...args: Parameters<Store['read']>) {
            for await (const events of store.read(...args)) yield events.filter(({ position }) => position !== 300);
          },
        });
        const lost = { name: 'BrokenChainError', position: 300 };
        await expect(treeHash(600, new Tree(holed))).rejects.toMatchObject(lost);
        const beyond = new Tree(store).readTile({ level: 0, index: 2, width: 100 });
        await expect(beyond).rejects.toMatchObject({ name: 'BrokenChainError', position: 601 });
        await project(store, 400);
        const faults: unknown[] = [];
        const log = await openLog(override(holed, { close: async () => {} }), {
          onFault: (error) => faults.push(error),
        });
        await expect.poll(() => faults).toContainEqual(expect.objectContaining(lost));
        await log.close();
        expect(await store.checkpoint()).toBe(400);
        expect(await store.nodes(0, 9)).toHaveLength(1);
      }),
    );
  });
}
