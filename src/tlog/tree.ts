import { EMPTY_ROOT, nodeHash } from './hash.ts';
import { subtreeHash, TILE_HEIGHT, TILE_WIDTH, type TileReader, tilePath, widthAt } from './tile.ts';

/** A node with a full subtree of 2^level records. `index` counts the nodes of its level. */
interface Node {
  readonly level: number;
  readonly index: number;
}

/** The records of a subtree by RFC 6962: from `start`, up to but excluding `end`. */
export type Range = readonly [start: number, end: number];

/** The largest power of two below `size`, where RFC 6962, section 2.1, splits a tree. `size` must be above 1. */
export function splitOf(size: number): number {
  let half = 1;
  while (2 * half < size) half *= 2;
  return half;
}

/** The nodes with full subtrees that make up a range, from the largest and leftmost. */
function nodesOf([start, end]: Range): Node[] {
  const nodes: Node[] = [];
  for (let from = start; from < end; ) {
    let level = 0;
    while (2 ** (level + 1) <= end - from) level++;
    nodes.push({ level, index: from / 2 ** level });
    from += 2 ** level;
  }
  return nodes;
}

/** The hashes of ranges of the tree of a size, in order. Reads each tile once. */
export async function rangeHashes(ranges: readonly Range[], size: number, tiles: TileReader): Promise<Uint8Array[]> {
  const nodes = ranges.map(nodesOf);
  const hashes = await nodeHashes(nodes.flat(), size, tiles);
  let from = 0;
  return nodes.map(({ length }) => {
    const parts = hashes.slice(from, from + length);
    from += length;
    return parts.reduceRight((right, left) => nodeHash(left, right));
  });
}

function nodeHashes(nodes: readonly Node[], size: number, tiles: TileReader): Promise<Uint8Array[]> {
  const read = new Map<string, Promise<Uint8Array>>();
  const reading = nodes.map(async (node) => {
    const level = Math.floor(node.level / TILE_HEIGHT);
    const count = 2 ** (node.level % TILE_HEIGHT);
    const first = node.index * count;
    const index = Math.floor(first / TILE_WIDTH);
    const tile = { level, index, width: widthAt(size, level, index) };
    const path = tilePath(tile);
    const known = read.get(path) ?? tiles.readTile(tile);
    read.set(path, known);
    return subtreeHash(await known, first % TILE_WIDTH, count);
  });
  return Promise.all(reading);
}

/** The root of the tree of the first `size` records (RFC 6962, section 2.1). Rejects if a tile is missing. */
export async function treeHash(size: number, tiles: TileReader): Promise<Uint8Array> {
  if (size === 0) return EMPTY_ROOT;
  const [root] = await rangeHashes([[0, size]], size, tiles);
  return root!;
}

/** A tree that grows by records. Keeps the hashes of its full subtrees: one for each 1 of its size in binary. */
export class Frontier {
  #size = 0;
  /** From the largest and leftmost. */
  readonly #subtrees: Uint8Array[] = [];

  /** Number of records added. */
  get size(): number {
    return this.#size;
  }

  add(record: Uint8Array): void {
    let hash = record;
    // Each trailing 1 of the size is a subtree that the new record completes to one of twice the size.
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2) hash = nodeHash(this.#subtrees.pop()!, hash);
    this.#subtrees.push(hash);
    this.#size++;
  }

  /** The root of the tree (RFC 6962, section 2.1). */
  get root(): Uint8Array {
    return this.#size === 0 ? EMPTY_ROOT : this.#subtrees.reduceRight((right, left) => nodeHash(left, right));
  }
}
