import { LRUCache } from 'lru-cache';
import { HASH_SIZE, recordHash, sameHash } from '../../tlog/hash.ts';
import { encodeEntries, subtreeHash, TILE_WIDTH, type Tile, type TileReader } from '../../tlog/tile.ts';
import type { Store } from '../store.ts';
import { wholeRange } from '../whole-range.ts';
import { BrokenTreeError, NodeBuilder, nodeCountOf } from './nodes.ts';

/** Most bytes of cached event blocks. */
const MAX_BLOCK_BYTES = 8 * 1024 * 1024;

const READ_NODES = 4_096;

/** 256 consecutive events, or the first few of them. */
export interface Block {
  /** Their tile of level 0. */
  readonly hashes: Uint8Array;
  /** Their entry bundle. */
  readonly bundle: Uint8Array;
}

/**
 * Reads the log's Merkle tree: the lowest tiles and the entry bundles from the events, level 1 from the stored nodes
 * and from the events after the read model's checkpoint, the levels above from those. It keeps levels 1 and up once
 * they were asked for: 1.3 MB for ten million events. Callers may ask only for what the log has: a missing event is a
 * BrokenChainError. A node that is lost or wrong is a BrokenTreeError.
 */
export class Tree implements TileReader {
  readonly #store: Store;
  readonly #replaced: AbortSignal | undefined;
  #blocks: LRUCache<number, Block>;
  /** The hashes of each level, one behind the other. There are none for level 0. */
  #levels: Uint8Array[] = [];
  #growth: Promise<unknown> = Promise.resolve();

  /** `replaced`: aborts once the log was replaced. The tree then rejects with the signal's reason. */
  constructor(store: Store, replaced?: AbortSignal) {
    this.#store = store;
    this.#replaced = replaced;
    this.#blocks = this.#noBlocks();
  }

  #noBlocks(): LRUCache<number, Block> {
    return new LRUCache({
      maxSize: MAX_BLOCK_BYTES,
      sizeCalculation: ({ hashes, bundle }) => hashes.length + bundle.length,
      // Concurrent calls for the same block share one read.
      fetchMethod: (index) => this.#readWholeBlock(index),
    });
  }

  /** Forgets all nodes and events, so that the store is asked again. Reads under way go on. */
  forget(): void {
    this.#levels = [];
    // To clear the cache would end its reads with an error.
    this.#blocks = this.#noBlocks();
  }

  async readTile({ level, index, width }: Tile): Promise<Uint8Array> {
    if (level === 0) return (await this.readBlock(index, width)).hashes;
    this.#replaced?.throwIfAborted();
    const start = index * TILE_WIDTH;
    return slice(await this.#reach(level, start + width), start, start + width);
  }

  /** The block with this index and width: `width` events from position `index` * 256 + 1 on. */
  async readBlock(index: number, width: number): Promise<Block> {
    this.#replaced?.throwIfAborted();
    return width === TILE_WIDTH ? (await this.#blocks.fetch(index))! : this.#readBlock(index, width);
  }

  /** A whole block is served for ever, so it must make the node above it. */
  async #readWholeBlock(index: number): Promise<Block> {
    const block = await this.#readBlock(index, TILE_WIDTH);
    const nodes = await this.#reach(1, index + 1);
    if (!sameHash(subtreeHash(block.hashes, 0, TILE_WIDTH), slice(nodes, index, index + 1)))
      throw new BrokenTreeError(`node ${index} of the Merkle tree does not match its events`);
    return block;
  }

  async #readBlock(index: number, width: number): Promise<Block> {
    const start = index * TILE_WIDTH;
    const records: Uint8Array[] = [];
    for await (const events of wholeRange(this.#store, start, start + width))
      for (const { bytes } of events) records.push(bytes);
    // A copy of its own: a part of Node's pool would keep all of that in memory, eight times as much.
    return { hashes: Uint8Array.from(Buffer.concat(records.map(recordHash))), bundle: encodeEntries(records) };
  }

  /** The hashes of a level, at least so many. */
  async #reach(level: number, count: number): Promise<Uint8Array> {
    // Those of now: they may be forgotten during the read.
    const levels = this.#levels;
    if (countOf(levels[level]) < count) {
      // One at a time: each goes on where the one before it has stopped.
      this.#growth = this.#growth.catch(() => {}).then(() => this.#grow(levels, level, count));
      await this.#growth;
    }
    return levels[level]!;
  }

  async #grow(levels: Uint8Array[], level: number, count: number): Promise<void> {
    const known = levels[level] ?? new Uint8Array();
    const first = countOf(known);
    if (first >= count) return;
    if (level > 1) await this.#grow(levels, level - 1, count * TILE_WIDTH);
    const more = level === 1 ? await this.#readNodes(first, count) : parents(levels[level - 1]!, first, count);
    levels[level] = Buffer.concat([known, ...more]);
  }

  async #readNodes(first: number, count: number): Promise<Uint8Array[]> {
    const nodes: Uint8Array[] = [];
    // Read before the nodes, which move with it.
    const stored = Math.min(count, nodeCountOf(await this.#store.checkpoint()));
    for (let next = first; next < stored; next = first + nodes.length) {
      const read = await this.#store.nodes(next, Math.min(stored, next + READ_NODES));
      if (read.length === 0) throw new BrokenTreeError(`node ${next} of the Merkle tree is missing`);
      for (const hash of read) nodes.push(hash);
    }
    const builder = new NodeBuilder((first + nodes.length) * TILE_WIDTH);
    for await (const events of wholeRange(this.#store, builder.position, count * TILE_WIDTH))
      for (const hash of builder.add(events).hashes) nodes.push(hash);
    return nodes;
  }
}

const countOf = (hashes: Uint8Array = new Uint8Array()): number => hashes.length / HASH_SIZE;

/** The hashes from `start` up to but not including `end`. */
const slice = (hashes: Uint8Array, start: number, end: number): Uint8Array =>
  hashes.subarray(start * HASH_SIZE, end * HASH_SIZE);

/** The hashes from index `first` up to but not including `end`, of the level above these. */
function parents(below: Uint8Array, first: number, end: number): Uint8Array[] {
  const hashes: Uint8Array[] = [];
  for (let index = first; index < end; index++)
    hashes.push(subtreeHash(slice(below, index * TILE_WIDTH, (index + 1) * TILE_WIDTH), 0, TILE_WIDTH));
  return hashes;
}
