import { LRUCache } from 'lru-cache';
import { PlantStoreError } from '../../domain/errors.ts';
import { encodeEntries } from '../../tlog/entry-bundle.ts';
import { recordHash, sameHash } from '../../tlog/hash.ts';
import {
  recordsPerHash,
  subtreeHash,
  TILE_WIDTH,
  type Tile,
  TileHashReader,
  type TileReader,
} from '../../tlog/tile.ts';
import { BrokenChainError } from '../event/chain.ts';
import { recordOf } from '../event/leaf.ts';
import type { Store } from '../store.ts';
import { wholeRange } from '../whole-range.ts';

/** Most bytes of cached event blocks, and of cached upper tiles. */
const BLOCK_BYTES = 8 * 1024 * 1024;
const UPPER_TILES = 128;

/** Most events without stored nodes that a reader is still served. The builder is seldom that far behind. */
export const MAX_UNBUILT = 64 * TILE_WIDTH;

/** 256 consecutive events, or the first few of them. */
export interface Block {
  /** Their tile of level 0. */
  readonly hashes: Uint8Array;
  /** Their entry bundle. */
  readonly bundle: Uint8Array;
}

/**
 * Reads the log's Merkle tree: upper tiles from the stored nodes, the lowest tiles and the entry bundles from the
 * events. Its memory is bounded, however long the log is. Callers may ask only for what the log has: a missing event is
 * a BrokenChainError.
 */
export class Tree implements TileReader {
  readonly #store: Store;
  readonly #maxUnbuilt: number;
  readonly #changed: AbortSignal | undefined;
  readonly #blocks: LRUCache<number, Block>;
  readonly #upper = new LRUCache<string, Uint8Array>({ max: UPPER_TILES });

  /**
   * Rejects with OVERLOADED when a reader would need nodes from more than `maxUnbuilt` events. Once `changed` aborts,
   * because the log was replaced, it rejects with the signal's reason.
   */
  constructor(store: Store, maxUnbuilt = MAX_UNBUILT, changed?: AbortSignal) {
    this.#store = store;
    this.#maxUnbuilt = maxUnbuilt;
    this.#changed = changed;
    this.#blocks = new LRUCache({
      maxSize: BLOCK_BYTES,
      sizeCalculation: ({ hashes, bundle }) => hashes.length + bundle.length,
      // Concurrent calls for the same block share one read.
      fetchMethod: (index) => this.#readWholeBlock(index),
    });
  }

  /** Reads node hashes of the tree with this size. */
  at(size: number): TileHashReader {
    return new TileHashReader(size, this);
  }

  /** Throws the reason of the signal once the log was replaced. */
  throwIfReplaced(): void {
    this.#changed?.throwIfAborted();
  }

  async readTile({ level, index, width }: Tile): Promise<Uint8Array> {
    if (level === 0) return (await this.readBlock(index, width)).hashes;
    this.throwIfReplaced();
    const key = `${level}/${index}`;
    const known = this.#upper.get(key);
    if (known !== undefined) return known.subarray(0, width * (known.length / TILE_WIDTH));
    const start = index * TILE_WIDTH;
    const tile = Buffer.concat(await this.#nodes(level, start, start + width));
    if (width < TILE_WIDTH) return tile;
    await this.#checkWhole(level, index, tile, 'one of the nodes of the tree');
    this.#upper.set(key, tile);
    return tile;
  }

  /** The block with this index and width: `width` events from position `index` * 256 + 1 on. */
  async readBlock(index: number, width: number): Promise<Block> {
    this.throwIfReplaced();
    return width === TILE_WIDTH ? (await this.#blocks.fetch(index))! : this.#readBlock(index, width);
  }

  async #readWholeBlock(index: number): Promise<Block> {
    const block = await this.#readBlock(index, TILE_WIDTH);
    await this.#checkWhole(0, index, block.hashes, `one of the ${TILE_WIDTH} events`);
    return block;
  }

  /**
   * A full tile is served for ever, so it must make the stored node above it: an event that was changed since, or a
   * node, is a BrokenChainError. A node that is not built yet says nothing. `what` is in the tile, in words.
   */
  async #checkWhole(level: number, index: number, tile: Uint8Array, what: string): Promise<void> {
    const [node] = await this.#store.tree.read(level + 1, index, index + 1);
    if (node !== undefined && !sameHash(node, subtreeHash(tile, 0, TILE_WIDTH)))
      throw new BrokenChainError(
        index * recordsPerHash(level + 1) + 1,
        `${what} from here on, or the node of the tree above them, is not what was written`,
      );
  }

  async #readBlock(index: number, width: number): Promise<Block> {
    const start = index * TILE_WIDTH;
    const records: Uint8Array[] = [];
    for await (const events of wholeRange(this.#store, start, start + width))
      for (const event of events) records.push(recordOf(event));
    return { hashes: Buffer.concat(records.map(recordHash)), bundle: encodeEntries(records) };
  }

  /** Nodes of a level above 0. Nodes that are not stored are made from the events. */
  async #nodes(level: number, start: number, end: number): Promise<Uint8Array[]> {
    const nodes = await this.#store.tree.read(level, start, end);
    const missing = end - start - nodes.length;
    if (missing * recordsPerHash(level) > this.#maxUnbuilt && !(await this.#isBuiltBelow(level, end)))
      throw new PlantStoreError('OVERLOADED', 'the tree of the log is being built; try again', { retryAfter: 5 });
    for (let node = start + nodes.length; node < end; node++) {
      const tile = await this.readTile({ level: level - 1, index: node, width: TILE_WIDTH });
      nodes.push(subtreeHash(tile, 0, TILE_WIDTH));
    }
    return nodes;
  }

  /** Whether nearly all lower nodes that the nodes of a level need are stored. */
  async #isBuiltBelow(level: number, end: number): Promise<boolean> {
    if (level === 1) return false;
    const built = (await this.#store.tree.count(1)) * TILE_WIDTH;
    return end * recordsPerHash(level) - built <= this.#maxUnbuilt;
  }
}
