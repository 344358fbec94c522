import { BrokenChainError } from '../log/event/chain.ts';
import type { Block, Tree } from '../log/tree/tree.ts';
import { decodeEntries, encodeEntries } from '../tlog/entry-bundle.ts';
import { HASH_SIZE, sameHash } from '../tlog/hash.ts';
import { recordsPerHash, sizeFor, TILE_WIDTH, type Tile, widthAt } from '../tlog/tile.ts';
import type { TreeEdge } from '../tlog/tree-edge.ts';
import type { LogCheckpoints } from './checkpoints.ts';

/** What others may read. */
export interface Checked {
  readonly bytes: Uint8Array;
  /** Whether it may be kept for ever. What is newer than every tree that was signed can be compared with nothing. */
  readonly isFinal: boolean;
}

/**
 * Reads tiles and bundles of entries for others, who keep them for ever. A partial one is compared with what this
 * instance has signed: the beginning of a tile that is full by now, which the tree checks, or of one on the edge of a
 * signed tree. Rejects with BrokenTreeError or BrokenChainError where they differ.
 */
export class CheckedTiles {
  readonly #tree: Tree;
  readonly #checkpoints: LogCheckpoints;

  constructor(tree: Tree, checkpoints: LogCheckpoints) {
    this.#tree = tree;
    this.#checkpoints = checkpoints;
  }

  /** A tile of the log, which must have its events. */
  async readTile(tile: Tile): Promise<Checked> {
    const { level, index, width } = tile;
    const whole = { level, index, width: TILE_WIDTH };
    if (width === TILE_WIDTH) return final(await this.#tree.readTile(whole));
    const edge = await this.#edge(tile);
    if (widthAt(edge.size, level, index) === TILE_WIDTH)
      return final(beginning(await this.#tree.readTile(whole), width));
    const signed = edge.at(level, index);
    if (signed !== undefined && signed.length >= width * HASH_SIZE) return final(beginning(signed, width));
    const bytes = await this.#tree.readTile(tile);
    await this.#expectSame(tile, bytes, signed);
    return { bytes, isFinal: false };
  }

  /** The bundle of the first `width` entries of a tile of level 0. The log must have them. */
  async readEntries(index: number, width: number): Promise<Checked> {
    if (width === TILE_WIDTH) return final((await this.#tree.readBlock(index, width)).bundle);
    const tile = { level: 0, index, width };
    const edge = await this.#edge(tile);
    if (widthAt(edge.size, 0, index) === TILE_WIDTH)
      return final(firstEntries(await this.#tree.readBlock(index, TILE_WIDTH), width));
    const { hashes, bundle } = await this.#tree.readBlock(index, width);
    const signed = edge.at(0, index);
    await this.#expectSame(tile, hashes, signed);
    return { bytes: bundle, isFinal: signed !== undefined && signed.length >= hashes.length };
  }

  #edge(tile: Tile): Promise<TreeEdge> {
    this.#tree.throwIfReplaced();
    return this.#checkpoints.edge(sizeFor(tile));
  }

  /** Compares a tile with the same tile on a signed edge, as far as both reach. */
  async #expectSame(tile: Tile, read: Uint8Array, signed: Uint8Array | undefined): Promise<void> {
    const both = Math.min(read.length, signed?.length ?? 0);
    if (signed === undefined || sameHash(read.subarray(0, both), signed.subarray(0, both))) return;
    const { level, index } = tile;
    if (level > 0) await this.#tree.explain(sizeFor(tile));
    throw new BrokenChainError(
      index * TILE_WIDTH * recordsPerHash(level) + 1,
      'an event from here on, or a node of the tree above it, is not what a checkpoint was signed for',
    );
  }
}

const final = (bytes: Uint8Array): Checked => ({ bytes, isFinal: true });

const beginning = (tile: Uint8Array, width: number): Uint8Array => tile.subarray(0, width * HASH_SIZE);

const firstEntries = ({ bundle }: Block, width: number): Uint8Array =>
  encodeEntries(decodeEntries(bundle).slice(0, width));
