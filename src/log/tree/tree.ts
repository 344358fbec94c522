import { LRUCache } from 'lru-cache';
import { HASH_SIZE, recordHash, sameHash } from '../../tlog/hash.ts';
import { encodeEntries, subtreeHash, TILE_WIDTH, type Tile, type TileReader } from '../../tlog/tile.ts';
import type { Store } from '../store.ts';
import { wholeRange } from '../whole-range.ts';
import { BrokenTreeError, NodeBuilder, nodesOf } from './nodes.ts';

/** Most bytes of cached event blocks. */
const BLOCK_BYTES = 8 * 1024 * 1024;

/** Most nodes of one read. */
const READ = 4_096;

/** 256 consecutive events, or the first few of them. */
export interface Block {
  /** Their tile of level 0. */
  readonly hashes: Uint8Array;
  /** Their entry bundle. */
  readonly bundle: Uint8Array;
}

/** Hashes in order, in memory of their own. */
class Hashes {
  #bytes = Buffer.alloc(64 * HASH_SIZE);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  push(hash: Uint8Array): void {
    const at = this.#count * HASH_SIZE;
    if (at === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(at)]);
    this.#bytes.set(hash, at);
    this.#count++;
  }

  /** The hashes from `start` up to but not including `end`. */
  slice(start: number, end: number): Buffer {
    return this.#bytes.subarray(start * HASH_SIZE, end * HASH_SIZE);
  }
}

/**
 * Reads the log's Merkle tree: the lowest tiles and the entry bundles from the events, level 1 from the stored nodes and
 * from the events after the read model's checkpoint, the levels above from those. It keeps levels 1 and up once they
 * were asked for: 1.3 MB for ten million events. Callers may ask only for what the log has: a missing event is a
 * BrokenChainError. A node that is lost or wrong is a BrokenTreeError.
 */
export class Tree implements TileReader {
  readonly #store: Store;
  readonly #changed: AbortSignal | undefined;
  readonly #blocks: LRUCache<number, Block>;
  /** By level. There is none for level 0. */
  #levels: Hashes[] = [];
  #growth: Promise<unknown> = Promise.resolve();

  /** `changed`: aborts once the log was replaced. The tree then rejects with the signal's reason. */
  constructor(store: Store, changed?: AbortSignal) {
    this.#store = store;
    this.#changed = changed;
    this.#blocks = new LRUCache({
      maxSize: BLOCK_BYTES,
      sizeCalculation: ({ hashes, bundle }) => hashes.length + bundle.length,
      // Concurrent calls for the same block share one read.
      fetchMethod: (index) => this.#readWholeBlock(index),
    });
  }

  /** Forgets all nodes and events, so that the store is asked again. */
  forget(): void {
    this.#levels = [];
    this.#blocks.clear();
  }

  async readTile({ level, index, width }: Tile): Promise<Uint8Array> {
    if (level === 0) return (await this.readBlock(index, width)).hashes;
    this.#changed?.throwIfAborted();
    const start = index * TILE_WIDTH;
    return (await this.#reach(level, start + width)).slice(start, start + width);
  }

  /** The block with this index and width: `width` events from position `index` * 256 + 1 on. */
  async readBlock(index: number, width: number): Promise<Block> {
    this.#changed?.throwIfAborted();
    return width === TILE_WIDTH ? (await this.#blocks.fetch(index))! : this.#readBlock(index, width);
  }

  /** A whole block is served for ever, so it must make the node above it. */
  async #readWholeBlock(index: number): Promise<Block> {
    const block = await this.#readBlock(index, TILE_WIDTH);
    const nodes = await this.#reach(1, index + 1);
    if (!sameHash(subtreeHash(block.hashes, 0, TILE_WIDTH), nodes.slice(index, index + 1)))
      throw new BrokenTreeError(`node ${index} of the Merkle tree does not match its events`);
    return block;
  }

  async #readBlock(index: number, width: number): Promise<Block> {
    const start = index * TILE_WIDTH;
    const records: Uint8Array[] = [];
    for await (const events of wholeRange(this.#store, start, start + width))
      for (const { bytes } of events) records.push(bytes);
    return { hashes: Buffer.concat(records.map(recordHash)), bundle: encodeEntries(records) };
  }

  /** The hashes of a level, at least so many. */
  async #reach(level: number, count: number): Promise<Hashes> {
    // Those of now: they may be forgotten during the read.
    const levels = this.#levels;
    if ((levels[level]?.count ?? 0) < count) {
      // One at a time: each goes on where the one before it has stopped.
      this.#growth = this.#growth.catch(() => {}).then(() => this.#grow(levels, level, count));
      await this.#growth;
    }
    return levels[level]!;
  }

  async #grow(levels: Hashes[], level: number, count: number): Promise<void> {
    levels[level] ??= new Hashes();
    const hashes = levels[level];
    if (hashes.count >= count) return;
    if (level === 1) return this.#readNodes(hashes, count);
    await this.#grow(levels, level - 1, count * TILE_WIDTH);
    const below = levels[level - 1]!;
    while (hashes.count < count) {
      const start = hashes.count * TILE_WIDTH;
      hashes.push(subtreeHash(below.slice(start, start + TILE_WIDTH), 0, TILE_WIDTH));
    }
  }

  async #readNodes(nodes: Hashes, count: number): Promise<void> {
    // Read before the nodes, which move with it.
    const stored = Math.min(count, nodesOf(await this.#store.checkpoint()));
    while (nodes.count < stored) {
      const read = await this.#store.nodes(nodes.count, Math.min(stored, nodes.count + READ));
      if (read.length === 0) throw new BrokenTreeError(`node ${nodes.count} of the Merkle tree is missing`);
      for (const hash of read) nodes.push(hash);
    }
    const builder = new NodeBuilder(nodes.count * TILE_WIDTH);
    for await (const events of wholeRange(this.#store, builder.position, count * TILE_WIDTH))
      for (const hash of builder.add(events).hashes) nodes.push(hash);
  }
}
