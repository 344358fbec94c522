import { subtreeHash, TILE_WIDTH } from '../../tlog/tile.ts';

/** A node of the tree in a store. */
export interface TreeNode {
  readonly level: number;
  readonly index: number;
  readonly hash: Uint8Array;
}

/** Computes the stored nodes of a tree from all its leaves. Keeps one tile of each level in memory. */
export class TreeNodesOf {
  readonly #tiles: { count: number; hashes: Uint8Array[] }[] = [];

  /** The nodes that a leaf completes; usually none. */
  add(leaf: Uint8Array): readonly TreeNode[] {
    return this.#add(0, leaf);
  }

  #add(level: number, hash: Uint8Array): readonly TreeNode[] {
    this.#tiles[level] ??= { count: 0, hashes: [] };
    const tile = this.#tiles[level];
    tile.hashes.push(hash);
    if (tile.hashes.length < TILE_WIDTH) return NONE;
    const node = subtreeHash(Buffer.concat(tile.hashes.splice(0)), 0, TILE_WIDTH);
    return [{ level: level + 1, index: tile.count++, hash: node }, ...this.#add(level + 1, node)];
  }
}

const NONE: readonly TreeNode[] = [];
