import { LRUCache } from 'lru-cache';
import { PlantStoreError } from '../../domain/errors.ts';
import { monotonic } from '../../time/host.ts';
import { encodeEntries } from '../../tlog/entry-bundle.ts';
import { HASH_SIZE, recordHash, sameHash } from '../../tlog/hash.ts';
import {
  recordsPerHash,
  subtreeHash,
  TILE_WIDTH,
  type Tile,
  TileHashReader,
  type TileReader,
} from '../../tlog/tile.ts';
import { TreeEdge } from '../../tlog/tree-edge.ts';
import { BrokenChainError, headAt, verifyNext } from '../event/chain.ts';
import { EMPTY_HEAD, type Head } from '../event/event.ts';
import type { Store } from '../store.ts';
import { wholeRange } from '../whole-range.ts';
import { BrokenTreeError, builtNodes } from './nodes.ts';

/** Most bytes of cached event blocks, and of cached upper tiles. */
const BLOCK_BYTES = 8 * 1024 * 1024;
const UPPER_TILES = 128;

/** Most events without stored nodes that a reader is still served. The builder is seldom that far behind. */
export const MAX_UNBUILT = 64 * TILE_WIDTH;

/** Milliseconds for which an explanation stands: it reads up to 65,536 events, and anybody can ask for what needs one. */
const EXPLAINED = 30_000;
/** Milliseconds for which a fault of an edge stands, for the same reason. */
const EDGE_FAULT = 2_000;

/** Options of a tree. */
export interface TreeOptions {
  /** Most events without stored nodes from which a reader's nodes are made. Default: MAX_UNBUILT. */
  readonly maxUnbuilt?: number;
  /** Aborts once the log was replaced. The tree then rejects with the signal's reason. */
  readonly changed?: AbortSignal;
  /** Called when a stored node is found lost or wrong, or an event below one on the way, each time. */
  readonly onBroken?: (fault: BrokenTreeError | BrokenChainError) => void;
}

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
 * a BrokenChainError. A stored node that is lost or wrong is a BrokenTreeError.
 */
export class Tree implements TileReader {
  readonly #store: Store;
  readonly #maxUnbuilt: number;
  readonly #changed: AbortSignal | undefined;
  readonly #onBroken: (fault: BrokenTreeError | BrokenChainError) => void;
  readonly #blocks: LRUCache<number, Block>;
  readonly #upper = new LRUCache<string, Uint8Array>({ max: UPPER_TILES });
  #explained: { readonly size: number; readonly until: number; readonly whole: Promise<unknown> } | undefined;
  #edgeFault: { readonly until: number; readonly fault: BrokenTreeError } | undefined;

  /** Rejects with OVERLOADED when a reader would need nodes from more than `maxUnbuilt` events. */
  constructor(store: Store, { maxUnbuilt = MAX_UNBUILT, changed, onBroken = () => {} }: TreeOptions = {}) {
    this.#store = store;
    this.#maxUnbuilt = maxUnbuilt;
    this.#changed = changed;
    this.#onBroken = onBroken;
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

  /**
   * The edge of the tree of a size, from which its root follows. Each stored node on it is compared with what is below
   * it, except for those that the tree of the first `covered` events has: nothing else does so before a root is signed
   * for good. Rejects with BrokenTreeError where they differ, and for some seconds without another look.
   */
  async edge(size: number, covered = 0): Promise<TreeEdge> {
    if (this.#edgeFault !== undefined && monotonic() < this.#edgeFault.until) throw this.#edgeFault.fault;
    try {
      return await this.#checkedEdge(size, covered);
    } catch (error) {
      if (error instanceof BrokenTreeError) this.#edgeFault = { until: monotonic() + EDGE_FAULT, fault: error };
      throw error;
    }
  }

  async #checkedEdge(size: number, covered: number): Promise<TreeEdge> {
    const edge = await TreeEdge.read(size, this);
    for (let level = 1, count = nodesAt(level, size); count > 0; count = nodesAt(++level, size)) {
      const index = Math.floor(count / TILE_WIDTH);
      const tile = edge.at(level, index);
      for (let node = Math.max(index * TILE_WIDTH, nodesAt(level, covered)); node < count; node++) {
        const at = (node % TILE_WIDTH) * HASH_SIZE;
        await this.#compare(level, node, tile!.subarray(at, at + HASH_SIZE));
      }
    }
    return edge;
  }

  /**
   * Rejects with BrokenTreeError if a stored node explains why the tree of a size is not what was signed. Otherwise
   * the events are others. Explains one size at a time, and rejects with OVERLOADED for others.
   */
  async explain(size: number): Promise<void> {
    if (this.#explained === undefined || monotonic() >= this.#explained.until) {
      const whole = this.edge(size);
      this.#explained = { size, until: monotonic() + EXPLAINED, whole };
      whole.catch(() => {
        this.#explained = undefined;
      });
    }
    if (this.#explained.size !== size)
      throw new PlantStoreError('OVERLOADED', 'what is wrong with the tree is being looked for; try again', {
        retryAfter: EXPLAINED / 1_000,
      });
    await this.#explained.whole;
  }

  readTile(tile: Tile): Promise<Uint8Array> {
    return this.#telling(() => this.#readTile(tile));
  }

  async #readTile({ level, index, width }: Tile): Promise<Uint8Array> {
    if (level === 0) return (await this.readBlock(index, width)).hashes;
    this.throwIfReplaced();
    const key = `${level}/${index}`;
    const known = this.#upper.get(key);
    if (known !== undefined) return known.subarray(0, width * (known.length / TILE_WIDTH));
    const start = index * TILE_WIDTH;
    const tile = Buffer.concat(await this.#nodes(level, start, start + width));
    if (width < TILE_WIDTH) return tile;
    await this.#checkWhole(level, index, tile);
    this.#upper.set(key, tile);
    return tile;
  }

  /** The block with this index and width: `width` events from position `index` * 256 + 1 on. */
  async readBlock(index: number, width: number): Promise<Block> {
    this.throwIfReplaced();
    return this.#telling(async () =>
      width === TILE_WIDTH ? (await this.#blocks.fetch(index))! : this.#readBlock(index, width),
    );
  }

  async #telling<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (error instanceof BrokenTreeError) this.#onBroken(error);
      throw error;
    }
  }

  async #readWholeBlock(index: number): Promise<Block> {
    const block = await this.#readBlock(index, TILE_WIDTH);
    await this.#checkWhole(0, index, block.hashes);
    return block;
  }

  /** A full tile is served for ever, so it must make the stored node above it. One that is not built yet says nothing. */
  async #checkWhole(level: number, index: number, tile: Uint8Array): Promise<void> {
    const [node] = await builtNodes(this.#store.tree, level + 1, index, index + 1);
    if (node !== undefined && !sameHash(node, subtreeHash(tile, 0, TILE_WIDTH)))
      throw await this.#wrong(level + 1, index);
  }

  /** Compares a stored node, as it was read, with what is below it. Broken events are told, but say nothing of the node. */
  async #compare(level: number, index: number, node: Uint8Array): Promise<void> {
    try {
      const below = await this.readTile({ level: level - 1, index, width: TILE_WIDTH });
      if (!sameHash(node, subtreeHash(below, 0, TILE_WIDTH))) throw await this.#wrong(level, index);
    } catch (error) {
      if (error instanceof BrokenTreeError || error instanceof BrokenChainError) this.#onBroken(error);
      if (!(error instanceof BrokenChainError)) throw error;
    }
  }

  /**
   * The error for a node that is not that of what is below it. Rejects with BrokenChainError if an event is what is
   * wrong. The chain goes one event further, so that it covers the hash of the last.
   */
  async #wrong(level: number, index: number): Promise<BrokenTreeError> {
    if (level > 1) return new BrokenTreeError(level, index, 'is not that of the nodes below it');
    const [after, to] = [index * TILE_WIDTH, (index + 1) * TILE_WIDTH + 1];
    const { position } = await this.#store.head();
    let head: Head = EMPTY_HEAD;
    for await (const events of wholeRange(this.#store, Math.max(after - 1, 0), Math.min(to, position)))
      for (const event of events) {
        if (event.position > after) verifyNext(head, event);
        head = headAt(event);
      }
    return new BrokenTreeError(level, index, 'is not that of its events');
  }

  async #readBlock(index: number, width: number): Promise<Block> {
    const start = index * TILE_WIDTH;
    const records: Uint8Array[] = [];
    for await (const events of wholeRange(this.#store, start, start + width))
      for (const event of events) records.push(event.bytes);
    return { hashes: Buffer.concat(records.map(recordHash)), bundle: encodeEntries(records) };
  }

  /** Nodes of a level above 0. Nodes that are not stored are made from the events. */
  async #nodes(level: number, start: number, end: number): Promise<Uint8Array[]> {
    const nodes = await builtNodes(this.#store.tree, level, start, end);
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

/** The number of nodes of a level in the tree of a size. */
const nodesAt = (level: number, size: number): number => Math.floor(size / recordsPerHash(level));
