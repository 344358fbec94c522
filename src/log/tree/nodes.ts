import { HASH_SIZE } from '../../tlog/hash.ts';
import { subtreeHash, TILE_WIDTH } from '../../tlog/tile.ts';
import { leafHash } from '../event/chain.ts';
import type { StoredEvent } from '../event/event.ts';
import type { Nodes, Store } from '../store.ts';
import { wholeRange } from '../whole-range.ts';

/** The log's Merkle tree is not what was signed: a node is lost or changed, or an event. Retrying is useless. */
export class BrokenTreeError extends Error {
  /** What is wrong, in words. */
  readonly why: string;

  /** `why` and the `remedy`, in words. */
  constructor(why: string, remedy = 'run plantstore audit verify, then plantstore audit rebuild') {
    super(`${why}: ${remedy}`);
    this.name = 'BrokenTreeError';
    this.why = why;
  }
}

/** The hashes that a store has of nodes from `start` on, up to a gap. Throws BrokenTreeError if one is no hash. */
export function storedHashes(start: number, nodes: readonly (readonly [index: unknown, hash: unknown])[]) {
  const gap = nodes.findIndex(([index], at) => Number(index) !== start + at);
  return nodes.slice(0, gap < 0 ? nodes.length : gap).map(([index, hash]) => {
    if (hash instanceof Uint8Array && hash.length === HASH_SIZE) return hash;
    throw new BrokenTreeError(`node ${index} of the Merkle tree is malformed`);
  });
}

/** The number of nodes of a log with so many events. */
export const nodeCountOf = (events: number): number => Math.floor(events / TILE_WIDTH);

/** Computes nodes of level 1 from events, in order. Keeps the hashes of one tile. */
export class NodeBuilder {
  readonly #leaves = Buffer.alloc(TILE_WIDTH * HASH_SIZE);
  #position: number;

  /** `position`: that of the last event of a tile, or 0; the events after it come first. */
  constructor(position = 0) {
    this.#position = position;
  }

  /** The builder of what the events after a position complete. Reads those of its own tile, at most 255. */
  static async after(store: Pick<Store, 'read'>, position: number): Promise<NodeBuilder> {
    const start = nodeCountOf(position) * TILE_WIDTH;
    const builder = new NodeBuilder(start);
    for await (const events of wholeRange(store, start, position)) builder.add(events);
    return builder;
  }

  /** Position of the last event taken. */
  get position(): number {
    return this.#position;
  }

  /** Takes the next events. Returns the nodes that they complete. */
  add(events: readonly Pick<StoredEvent, 'bytes' | 'position'>[]): Nodes {
    const first = nodeCountOf(this.#position);
    const hashes: Uint8Array[] = [];
    for (const event of events) {
      if (event.position !== this.#position + 1)
        throw new RangeError(`position ${event.position} does not follow ${this.#position}`);
      this.#leaves.set(leafHash(event), (this.#position % TILE_WIDTH) * HASH_SIZE);
      this.#position++;
      if (this.#position % TILE_WIDTH === 0) hashes.push(Buffer.from(subtreeHash(this.#leaves, 0, TILE_WIDTH)));
    }
    return { first, hashes };
  }
}
