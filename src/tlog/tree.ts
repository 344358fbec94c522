import { EMPTY_ROOT, nodeHash } from './hash.ts';

/** A node of the tree whose subtree is full: `index` of those of its level, which have 2^level records each. */
export interface Node {
  readonly level: number;
  readonly index: number;
}

/** Reads hashes of nodes whose subtrees are full. */
export interface HashReader {
  /** The hashes of these nodes, in their order. Rejects unless it has all of them. */
  readHashes(nodes: readonly Node[]): Promise<readonly Uint8Array[]>;
}

/** Records from `start` up to, and without, `end`, that make a subtree as RFC 6962 splits the tree. */
export type Range = readonly [start: number, end: number];

/** The largest power of two below `size`, which is above 1: where RFC 6962, section 2.1, splits a tree. */
export function splitOf(size: number): number {
  let half = 1;
  while (2 * half < size) half *= 2;
  return half;
}

/** The nodes with full subtrees that a range is made of, the largest and leftmost first. */
export function nodesOf([start, end]: Range): Node[] {
  const nodes: Node[] = [];
  for (let from = start; from < end; ) {
    let level = 0;
    while (2 ** (level + 1) <= end - from) level++;
    nodes.push({ level, index: from / 2 ** level });
    from += 2 ** level;
  }
  return nodes;
}

/** The hashes of ranges, in their order, by one call to the reader. */
export async function rangeHashes(ranges: readonly Range[], reader: HashReader): Promise<Uint8Array[]> {
  const nodes = ranges.map(nodesOf);
  const hashes = await reader.readHashes(nodes.flat());
  let from = 0;
  return nodes.map(({ length }) => {
    const parts = hashes.slice(from, from + length);
    from += length;
    return parts.reduceRight((right, left) => nodeHash(left, right));
  });
}

/** The root of the tree of the first `size` records (RFC 6962, section 2.1). */
export async function treeHash(size: number, reader: HashReader): Promise<Uint8Array> {
  if (size === 0) return EMPTY_ROOT;
  const [root] = await rangeHashes([[0, size]], reader);
  return root!;
}
