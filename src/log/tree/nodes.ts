import { HASH_SIZE } from '../../tlog/hash.ts';

/**
 * The stored nodes of the log's Merkle tree: for each level from 1 up, the roots of the full tiles of the level below
 * (c2sp.org/tlog-tiles). So node `index` of a level covers 256^level events. Nodes are derived from the events and
 * never change: every writer writes the same values. Missing nodes can be made from the events.
 */
export interface TreeNodes {
  /** The number of nodes of a level, up to the last. Rejects when the store cannot be reached. */
  count(level: number): Promise<number>;
  /**
   * The nodes of a level from `start` up to but not including `end`, as many as exist without a gap. Rejects with
   * BrokenTreeError for what is no node.
   */
  read(level: number, start: number, end: number): Promise<Uint8Array[]>;
  /** Writes nodes of a level, from `start` on. If it rejects, any prefix may be written. */
  write(level: number, start: number, nodes: readonly Uint8Array[]): Promise<void>;
  /** Removes the nodes of a level from index `count` on. */
  truncate(level: number, count: number): Promise<void>;
}

/**
 * A stored node of the tree is lost or is not what the events make, though their chain is whole. Retrying is useless
 * until the tree is made anew.
 */
export class BrokenTreeError extends Error {
  readonly level: number;
  readonly index: number;
  /** What is wrong with the node, in words. */
  readonly why: string;

  constructor(level: number, index: number, why: string) {
    super(
      `the tree of the log is broken: node ${index} of level ${level} ${why}: run plantstore audit verify, then plantstore audit rebuild`,
    );
    this.name = 'BrokenTreeError';
    this.level = level;
    this.index = index;
    this.why = why;
  }
}

/** The hash of a node as a store has it. Throws BrokenTreeError if it is no hash. */
export function storedHash(level: number, index: number, hash: unknown): Uint8Array {
  if (hash instanceof Uint8Array && hash.length === HASH_SIZE) return hash;
  throw new BrokenTreeError(level, index, 'is malformed');
}

/**
 * The nodes of a level from `start` up to but not including `end`, as many as are built. Rejects with BrokenTreeError if
 * one of these is lost: nodes are written in order, so what is missing before the last was there.
 */
export async function builtNodes(tree: TreeNodes, level: number, start: number, end: number): Promise<Uint8Array[]> {
  const nodes = await tree.read(level, start, end);
  if (nodes.length === end - start) return nodes;
  const built = Math.min(end, await tree.count(level));
  if (start + nodes.length >= built) return nodes;
  // They may have been written since the first read.
  const again = await tree.read(level, start, built);
  if (again.length < built - start) throw new BrokenTreeError(level, start + again.length, 'is missing');
  return again;
}
