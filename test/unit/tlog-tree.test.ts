import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EMPTY_ROOT, formatHash, nodeHash, parseHash, recordHash, sameHash } from '../../src/tlog/hash.ts';
import { checkRecord, checkTree, ProofError, proveRecord, proveTree } from '../../src/tlog/proof.ts';
import { ProvenTiles } from '../../src/tlog/proven-tiles.ts';
import {
  decodeEntries,
  encodeEntries,
  entriesPath,
  MAX_ENTRY,
  parseIndexPath,
  parseLevel,
  sizeFor,
  TILE_WIDTH,
  type TileReader,
  tilePath,
  widthAt,
} from '../../src/tlog/tile.ts';
import { Frontier, treeHash } from '../../src/tlog/tree.ts';
import { MemoryTree } from '../support/memory-tree.ts';

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');

/**
 * The leaves that Certificate Transparency's own tests use, and the roots of the trees of the first 1, 2, ... of them.
 */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

/** MTH of RFC 6962, section 2.1, word for word. */
function mth(records: readonly Uint8Array[]): Uint8Array {
  if (records.length === 0) return EMPTY_ROOT;
  if (records.length === 1) return recordHash(records[0]!);
  let k = 1;
  while (2 * k < records.length) k *= 2;
  return nodeHash(mth(records.slice(0, k)), mth(records.slice(k)));
}

const recordsOf = (count: number): Uint8Array[] => Array.from({ length: count }, (_, index) => Buffer.from(`${index}`));

/** Sizes around the edges of tiles too. */
const size = fc.oneof(fc.nat(70), fc.nat(3_000), fc.constantFrom(255, 256, 257, 511, 512, 513));

describe('the tree', () => {
  const records = LEAVES.map((leaf) => Buffer.from(leaf, 'hex'));

  test("has the roots of Certificate Transparency's tests", async () => {
    expect(hex(EMPTY_ROOT)).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    for (const [index, root] of ROOTS.entries()) {
      const tree = new MemoryTree(records.slice(0, index + 1));
      expect(hex(tree.root)).toBe(root);
      expect(hex(await treeHash(index + 1, tree))).toBe(root);
    }
  });

  test('is that of RFC 6962, grown or read from tiles, at every size', async () => {
    const all = recordsOf(3_000);
    const tree = new MemoryTree(all);
    await fc.assert(
      fc.asyncProperty(size, async (n) => {
        const frontier = new Frontier();
        for (const record of all.slice(0, n)) frontier.add(recordHash(record));
        expect(frontier.size).toBe(n);
        expect(hex(frontier.root)).toBe(hex(mth(all.slice(0, n))));
        expect(hex(await treeHash(n, tree))).toBe(hex(frontier.root));
      }),
    );
  });
});

describe('proofs', () => {
  const all = recordsOf(3_000);
  const tree = new MemoryTree(all);
  const rootAt = (n: number) => treeHash(n, tree);
  const spoiled = (hash: Uint8Array): Uint8Array => Uint8Array.from(hash, (byte, at) => (at === 7 ? byte ^ 1 : byte));

  test('of a record hold, and for no other index, record, root or size', async () => {
    await fc.assert(
      fc.asyncProperty(size, fc.nat(), async (n, seed) => {
        fc.pre(n > 0);
        const index = seed % n;
        const { record, proof } = await proveRecord(n, index, tree);
        const root = await rootAt(n);
        expect(sameHash(record, recordHash(all[index]!))).toBe(true);
        checkRecord(proof, n, root, index, record);
        expect(() => checkRecord(proof, n, root, index, spoiled(record))).toThrow(ProofError);
        expect(() => checkRecord(proof, n, spoiled(root), index, record)).toThrow(ProofError);
        expect(() => checkRecord([...proof, root], n, root, index, record)).toThrow(ProofError);
        if (n > 1) {
          expect(() => checkRecord(proof, n, root, (index + 1) % n, record)).toThrow(ProofError);
          expect(() => checkRecord(proof.slice(1), n, root, index, record)).toThrow(ProofError);
        }
        for (const at of proof.keys())
          expect(() => checkRecord(proof.with(at, spoiled(proof[at]!)), n, root, index, record)).toThrow(ProofError);
      }),
    );
  });

  test('that a tree begins with an older one hold, and for no other', async () => {
    await fc.assert(
      fc.asyncProperty(size, size, async (a, b) => {
        const [older, n] = [Math.min(a, b), Math.max(a, b)];
        const proof = await proveTree(n, older, tree);
        const [root, olderRoot] = [await rootAt(n), await rootAt(older)];
        checkTree(proof, n, root, older, olderRoot);
        expect(() => checkTree(proof, n, root, older, spoiled(olderRoot))).toThrow(ProofError);
        expect(() => checkTree([...proof, root], n, root, older, olderRoot)).toThrow(ProofError);
        if (older > 0) expect(() => checkTree(proof, n, spoiled(root), older, olderRoot)).toThrow(ProofError);
        for (const at of proof.keys())
          expect(() => checkTree(proof.with(at, spoiled(proof[at]!)), n, root, older, olderRoot)).toThrow(ProofError);
      }),
    );
  });

  test('of what cannot be are refused', async () => {
    for (const [n, index] of [
      [0, 0],
      [3, 3],
      [3, -1],
      [3, 0.5],
      [Number.NaN, 0],
    ] as const)
      await expect(proveRecord(n, index, tree)).rejects.toThrow(ProofError);
    for (const [n, older] of [
      [3, 4],
      [3, -1],
      [3, 0.5],
      [2 ** 53, 1],
    ] as const)
      await expect(proveTree(n, older, tree)).rejects.toThrow(ProofError);
  });
});

describe('tiles', () => {
  test('have the paths of the specification, and those only', () => {
    expect(tilePath({ level: 0, index: 1_234_067, width: TILE_WIDTH })).toBe('tile/0/x001/x234/067');
    expect(tilePath({ level: 1, index: 0, width: 17 })).toBe('tile/1/000.p/17');
    expect(entriesPath(273, 112)).toBe('tile/entries/273.p/112');
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.integer({ min: 1, max: TILE_WIDTH }), (index, width) => {
        expect(parseIndexPath(entriesPath(index, width).slice('tile/entries/'.length))).toEqual({ index, width });
      }),
    );
    const others = [
      '',
      '0',
      '00',
      '0000',
      'x000/001',
      '001/002',
      'x1/002',
      '000.p/0',
      '000.p/256',
      '000.p/01',
      '000.p/',
    ];
    for (const path of [...others, '-01', '000/', ' 000', '000.p/1.p/1', `x${'999/x'.repeat(9)}999/999`])
      expect(parseIndexPath(path), path).toBeUndefined();
    expect(['0', '9', '63'].map(parseLevel)).toEqual([0, 9, 63]);
    for (const level of ['', '64', '00', '01', '-1', '1.0', 'entries'])
      expect(parseLevel(level), level).toBeUndefined();
  });

  test('of a tree of 70,000 are those that the specification names', () => {
    const widths = (level: number, index: number) => widthAt(70_000, level, index);
    expect([widths(0, 272), widths(0, 273), widths(0, 274)]).toEqual([256, 112, 0]);
    expect([widths(1, 0), widths(1, 1), widths(1, 2)]).toEqual([256, 17, 0]);
    expect([widths(2, 0), widths(3, 0)]).toEqual([1, 0]);
    expect(sizeFor({ level: 2, index: 0, width: 1 })).toBe(65_536);
    expect(sizeFor({ level: 0, index: 273, width: 112 })).toBe(70_000);
  });

  test('are read once each for a proof', async () => {
    const tree = new MemoryTree(recordsOf(1_000));
    const read: string[] = [];
    const readTile: typeof tree.readTile = (tile) => {
      read.push(tilePath(tile));
      return tree.readTile(tile);
    };
    await proveRecord(1_000, 300, { readTile });
    expect(read.toSorted()).toEqual([...new Set(read)].toSorted());
  });
});

test('entry bundles come back as they were, and no entry is too long for its length', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 10 }), (entries) => {
      const decoded = decodeEntries(encodeEntries(entries));
      expect(decoded.map((entry) => [...entry])).toEqual(entries.map((entry) => [...entry]));
    }),
  );
  expect(Buffer.from(encodeEntries([Buffer.from('ab')])).toString('hex')).toBe('00026162');
  const longest = new Uint8Array(MAX_ENTRY);
  expect(decodeEntries(encodeEntries([longest]))[0]!.length).toBe(MAX_ENTRY);
  expect(() => encodeEntries([new Uint8Array(MAX_ENTRY + 1)])).toThrow(RangeError);
  for (const cut of [1, 2, 3])
    expect(() => decodeEntries(encodeEntries([Buffer.from('ab')]).subarray(0, cut))).toThrow();
});

test('a hash has one form as text', () => {
  expect(hex(parseHash(formatHash(EMPTY_ROOT)))).toBe(hex(EMPTY_ROOT));
  const text = formatHash(EMPTY_ROOT);
  for (const other of [
    '',
    text.slice(1),
    `${text}\n`,
    text.replace('=', ''),
    text.replace(/.=$/, 'V='),
    text.replace('/', '_'),
  ])
    if (other !== text) expect(() => parseHash(other), other).toThrow('malformed hash');
});

test('a tile whose read failed once is read again', async () => {
  const tree = new MemoryTree(Array.from({ length: 600 }, (_, index) => Buffer.from(`${index}`)));
  let isFailing = false;
  const source: TileReader = {
    readTile: async (tile) => (isFailing ? Promise.reject(new Error('lost')) : tree.readTile(tile)),
  };
  const tiles = await ProvenTiles.open(600, tree.root, source);
  const tile = { level: 0, index: 1, width: TILE_WIDTH };
  isFailing = true;
  await expect(tiles.readTile(tile)).rejects.toThrow('lost');
  isFailing = false;
  expect(await tiles.readTile(tile)).toEqual(await tree.readTile(tile));
});
