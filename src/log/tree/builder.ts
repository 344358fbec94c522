import { Backoff } from '../../time/backoff.ts';
import { nextTurn, turn } from '../../time/host.ts';
import { Nap } from '../../time/nap.ts';
import { pause } from '../../time/pause.ts';
import { repeat } from '../../time/repeat.ts';
import { HASH_SIZE } from '../../tlog/hash.ts';
import { subtreeHash, TILE_WIDTH } from '../../tlog/tile.ts';
import { leafHash } from '../event/chain.ts';
import type { LoggedEvent } from '../event/event.ts';
import type { Store } from '../store.ts';
import type { Tail } from '../tail/tail.ts';
import { wholeRange } from '../whole-range.ts';
import { builtNodes, type TreeNodes } from './nodes.ts';

/** Milliseconds for which nodes gather before they are written. */
const LINGER = 500;
/** Milliseconds until an instance checks again whether it is the one to build. */
const STANDBY = 1_000;
/** Milliseconds until a builder without work looks again what is stored. */
const LOOK = 60_000;
/** Longest pause after a failed step, in milliseconds. */
const MAX_PAUSE = 5_000;
/** Most nodes of level 1 that one step makes and writes. */
const STEP = 64;
/** Nodes of level 1 made in one turn of the event loop, at about a millisecond each. */
const PER_TURN = 4;
/** Most hashes of new events that are kept for the next nodes. Further events are read from the store. */
const MAX_LEAVES = 8_192;

/**
 * Keeps the stored nodes of the log's Merkle tree up to date in the background: no append and no start waits for it.
 * The instance that projects also builds; two builders would write the same nodes. New events are hashed as they arrive
 * in the tail, so they need not be read again or kept.
 */
export class TreeBuilder {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #leads: () => Promise<boolean>;
  readonly #onFault: (error: unknown) => void;
  readonly #stop = new AbortController();
  /** Whether this instance was the builder at its last check. If not, it hashes nothing. */
  #isLeading = false;
  /** Events that are not hashed yet. */
  readonly #news: (readonly LoggedEvent[])[] = [];
  /** Hashes of consecutive events: the position of the first, and their number. */
  readonly #leaves = Buffer.alloc(MAX_LEAVES * HASH_SIZE);
  #first = 1;
  #count = 0;
  /** Number of stored nodes of level 1 at the last look. */
  #built = 0;
  readonly #nap = new Nap();

  /** `leads` returns whether this instance is the builder. */
  constructor(store: Store, tail: Tail, leads: () => Promise<boolean>, onFault: (error: unknown) => void) {
    this.#store = store;
    this.#tail = tail;
    this.#leads = leads;
    this.#onFault = onFault;
  }

  /** Builds until `stop`. Resolves when it has stopped. Reports faults and tries again after a pause. */
  async run(): Promise<void> {
    const forget = this.#tail.onExtended((news) => this.#hear(news));
    await repeat(() => this.#step(), this.#stop.signal, new Backoff(2 * LINGER, MAX_PAUSE), this.#onFault);
    forget();
  }

  /** Ends `run` after the current step. */
  stop(): void {
    this.#stop.abort();
    this.#nap.wake();
  }

  #hear(news: readonly LoggedEvent[]): void {
    if (this.#isLeading && this.#news.push(news) === 1) nextTurn(() => this.#hash());
    if (this.#toBuild() > 0) this.#nap.wake();
  }

  #hash(): void {
    for (const event of this.#news.splice(0).flat()) {
      if (event.position !== this.#first + this.#count || this.#count === MAX_LEAVES)
        this.#forgetLeaves(event.position);
      this.#leaves.set(leafHash(event), this.#count * HASH_SIZE);
      this.#count++;
    }
  }

  #forgetLeaves(first: number): void {
    const kept = Math.max(0, this.#first + this.#count - first);
    this.#leaves.copyWithin(0, (this.#count - kept) * HASH_SIZE, this.#count * HASH_SIZE);
    [this.#first, this.#count] = [first, kept];
  }

  /** The number of nodes of level 1 that the log has events for but that are not built. */
  #toBuild = (): number => Math.floor(this.#tail.head.position / TILE_WIDTH) - this.#built;

  async #step(): Promise<void> {
    await this.#look();
    if (this.#toBuild() <= 0) return this.#untilExtended();
    this.#isLeading = await this.#leads();
    if (!this.#isLeading) return pause(STANDBY, this.#stop.signal);
    this.#hash();
    const start = this.#built;
    const nodes: Uint8Array[] = [];
    for await (const tile of this.#tiles(start, start + Math.min(this.#toBuild(), STEP))) {
      nodes.push(subtreeHash(tile, 0, TILE_WIDTH));
      if (nodes.length % PER_TURN === 0) await turn();
    }
    await this.#store.tree.write(1, start, nodes);
    this.#built = start + nodes.length;
    if (this.#first <= this.#built * TILE_WIDTH) this.#forgetLeaves(this.#built * TILE_WIDTH + 1);
    await buildUpper(this.#store.tree, 1, this.#built);
    if (this.#toBuild() < STEP) await pause(LINGER, this.#stop.signal);
  }

  /**
   * Every step begins after the last node that is stored then. If the last ones were lost, it makes them again rather
   * than leave a gap.
   */
  async #look(): Promise<void> {
    const before = this.#built;
    this.#built = await this.#store.tree.count(1);
    if (this.#built < before)
      this.#onFault(
        new Error(
          `the store has lost nodes of the log's tree, from node ${this.#built} of level 1 on: they are made again`,
        ),
      );
  }

  /** The full tiles of level 0 with these indexes. */
  async *#tiles(start: number, end: number): AsyncGenerator<Uint8Array> {
    const before = start * TILE_WIDTH + 1 - this.#first;
    if (before >= 0 && before + (end - start) * TILE_WIDTH <= this.#count) {
      const leaves = Buffer.from(this.#leaves.subarray(before * HASH_SIZE));
      for (let tile = 0; tile < end - start; tile++)
        yield leaves.subarray(tile * TILE_WIDTH * HASH_SIZE, (tile + 1) * TILE_WIDTH * HASH_SIZE);
      return;
    }
    let leaves: Uint8Array[] = [];
    for await (const events of wholeRange(this.#store, start * TILE_WIDTH, end * TILE_WIDTH))
      for (const event of events) {
        leaves.push(leafHash(event));
        if (leaves.length < TILE_WIDTH) continue;
        yield Buffer.concat(leaves);
        leaves = [];
      }
  }

  async #untilExtended(): Promise<void> {
    if (!this.#stop.signal.aborted) await this.#nap.take(LOOK);
  }
}

/**
 * Makes and writes the nodes of all levels above `below`, which has `countBelow` nodes. Rejects with BrokenTreeError if
 * one of these is lost.
 */
export async function buildUpper(tree: TreeNodes, below: number, countBelow: number): Promise<void> {
  const level = below + 1;
  const end = Math.floor(countBelow / TILE_WIDTH);
  if (end === 0) return;
  const start = await tree.count(level);
  for (let node = start; node < end; node++) {
    const nodes = await builtNodes(tree, below, node * TILE_WIDTH, (node + 1) * TILE_WIDTH);
    // A rebuild has removed some of them meanwhile. The next step goes on.
    if (nodes.length < TILE_WIDTH) return;
    await tree.write(level, node, [subtreeHash(Buffer.concat(nodes), 0, TILE_WIDTH)]);
  }
  await buildUpper(tree, level, Math.max(start, end));
}
