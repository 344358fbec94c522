import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { subtreeHash, TILE_WIDTH } from '../tlog/tile.ts';
import type { LoggedEvent } from './event.ts';
import { leafHash } from './leaf.ts';
import type { Store } from './store.ts';
import type { Tail } from './tail.ts';
import type { TreeNodes } from './tree-nodes.ts';

/** Milliseconds in which nodes gather before they are written. */
const LINGER = 500;
/** Milliseconds until an instance looks again whether it is to build. */
const STANDBY = 1_000;
/** Longest pause after a failed step, in milliseconds. */
const MAX_PAUSE = 5_000;
/** Most nodes of level 1 that one step makes and writes. */
const STEP = 64;
/** Nodes of level 1, a millisecond each, that are made in one turn of the event loop. */
const PER_TURN = 4;
/** Events that are kept for the next node. Beyond them they are read from the store, where all of them are. */
const MAX_HEARD = 4_096;

/**
 * Keeps the nodes of the log's Merkle tree in the store up with the log, behind everybody's back: no append and no start waits
 * for it. The instance that projects builds; were there two, they would write the same. What it hears of new events spares it
 * to read them.
 */
export class TreeBuilder {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #leads: () => Promise<boolean>;
  readonly #onFault: (error: unknown) => void;
  readonly #stop = new AbortController();
  /** New events, without a gap. */
  #heard: LoggedEvent[] = [];
  /** Nodes of level 1 that are in the store, as far as is known; undefined: not looked yet. */
  #built: number | undefined;
  #wake: (() => void) | undefined;

  /** `leads` says whether this instance is the one to build. */
  constructor(store: Store, tail: Tail, leads: () => Promise<boolean>, onFault: (error: unknown) => void) {
    this.#store = store;
    this.#tail = tail;
    this.#leads = leads;
    this.#onFault = onFault;
  }

  /** Builds until `stop`. Resolves when it has stopped; faults are reported and tried again after a pause. */
  async run(): Promise<void> {
    const forget = this.#tail.onExtended((news) => this.#hear(news));
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#step();
        failures = 0;
      } catch (error) {
        failures++;
        this.#built = undefined;
        if (!this.#stop.signal.aborted) this.#onFault(error);
        await this.#pause(Math.min(LINGER * 2 ** failures, MAX_PAUSE));
      }
    }
    forget();
  }

  /** Ends `run` after the step in hand. */
  stop(): void {
    this.#stop.abort();
    this.#wake?.();
  }

  #hear(news: readonly LoggedEvent[]): void {
    const last = this.#heard.at(-1);
    if (this.#heard.length + news.length > MAX_HEARD || (last && last.position + 1 !== news[0]!.position))
      this.#heard = [];
    if (news.length <= MAX_HEARD) this.#heard.push(...news);
    if (this.#toBuild() > 0) this.#wake?.();
  }

  /** How many nodes of level 1 the log has events for, beyond those that are built. */
  #toBuild = (): number => Math.floor(this.#tail.head.position / TILE_WIDTH) - (this.#built ?? 0);

  async #step(): Promise<void> {
    this.#built ??= await this.#store.tree.count(1);
    if (this.#toBuild() <= 0) return this.#untilExtended();
    if (!(await this.#leads())) {
      this.#built = undefined;
      return this.#pause(STANDBY);
    }
    const start = this.#built;
    const nodes: Uint8Array[] = [];
    for await (const block of this.#blocks(start, start + Math.min(this.#toBuild(), STEP))) {
      nodes.push(subtreeHash(Buffer.concat(block.map(leafHash)), 0, TILE_WIDTH));
      if (nodes.length % PER_TURN === 0) await turn();
    }
    await this.#store.tree.write(1, start, nodes);
    this.#built = start + nodes.length;
    this.#heard = this.#heard.filter(({ position }) => position > this.#built! * TILE_WIDTH);
    await buildUpper(this.#store.tree, 1, this.#built);
    if (this.#toBuild() < STEP) await this.#pause(LINGER);
  }

  /** The events of so many nodes, 256 each. */
  async *#blocks(start: number, end: number): AsyncGenerator<readonly LoggedEvent[]> {
    const from = this.#heard.findIndex(({ position }) => position === start * TILE_WIDTH + 1);
    const heard = from < 0 ? [] : this.#heard.slice(from, from + (end - start) * TILE_WIDTH);
    if (heard.length === (end - start) * TILE_WIDTH) {
      for (let at = 0; at < heard.length; at += TILE_WIDTH) yield heard.slice(at, at + TILE_WIDTH);
      return;
    }
    let block: LoggedEvent[] = [];
    for await (const events of this.#store.read(start * TILE_WIDTH, { to: end * TILE_WIDTH }))
      for (const event of events) {
        block.push(event);
        if (block.length < TILE_WIDTH) continue;
        yield block;
        block = [];
      }
  }

  async #untilExtended(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  #pause(milliseconds: number): Promise<void> {
    return sleep(milliseconds, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
  }
}

/** Makes and writes the nodes of the levels above one that has so many, from those below them. */
export async function buildUpper(tree: TreeNodes, below: number, countBelow: number): Promise<void> {
  const level = below + 1;
  const end = Math.floor(countBelow / TILE_WIDTH);
  if (end === 0) return;
  const start = await tree.count(level);
  for (let node = start; node < end; node++) {
    const nodes = await tree.read(below, node * TILE_WIDTH, (node + 1) * TILE_WIDTH);
    if (nodes.length < TILE_WIDTH) throw new Error(`nodes of level ${below} of the log's tree are missing`);
    await tree.write(level, node, [subtreeHash(Buffer.concat(nodes), 0, TILE_WIDTH)]);
  }
  await buildUpper(tree, level, Math.max(start, end));
}
