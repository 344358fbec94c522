import { Backoff } from '../../time/backoff.ts';
import { turn } from '../../time/host.ts';
import { Nap } from '../../time/nap.ts';
import { repeat } from '../../time/repeat.ts';
import { sameHash } from '../../tlog/hash.ts';
import { recordsPerHash, subtreeHash, TILE_WIDTH } from '../../tlog/tile.ts';
import type { Store } from '../store.ts';
import { BrokenTreeError, builtNodes, type TreeNodes } from './nodes.ts';
import { Tree } from './tree.ts';

/** Milliseconds between two examinations of the nodes: some 150 reads for ten million events. */
const EXAMINE = 60_000;
/** Milliseconds between two looks whether a broken tree is mended. */
const LOOK = 1_000;
/** Longest pause after a failed step, in milliseconds. */
const MAX_PAUSE = 30_000;

/**
 * Examines what the stored nodes show by themselves: that none is lost, and that each above level 1 is that of the nodes
 * below it. Those of level 1 are compared with their events where they are read. Returns how many nodes there are.
 * Rejects with BrokenTreeError at the first that is wrong.
 */
export async function examineNodes(tree: TreeNodes): Promise<number> {
  let total = 0;
  for (let level = 1; ; level++) {
    const count = await tree.count(level);
    if (count === 0) return total;
    total += count;
    for (let start = 0; start < count; start += TILE_WIDTH) {
      const nodes = await builtNodes(tree, level, start, Math.min(start + TILE_WIDTH, count));
      if (nodes.length < TILE_WIDTH) break;
      const at = start / TILE_WIDTH;
      const [above] = await tree.read(level + 1, at, at + 1);
      if (above !== undefined && !sameHash(above, subtreeHash(Buffer.concat(nodes), 0, TILE_WIDTH)))
        throw new BrokenTreeError(level + 1, at, 'is not that of the nodes below it');
      await turn();
    }
  }
}

/**
 * Whether the stored tree of the log can be used, as far as this instance knows: it examines the nodes from time to
 * time, and is told what others find. It notices by itself that the tree was mended.
 */
export class TreeHealth {
  readonly #store: Store;
  readonly #onFault: (error: unknown) => void;
  readonly #onChange: (fault: BrokenTreeError | undefined) => void;
  readonly #stop = new AbortController();
  #fault: BrokenTreeError | undefined;
  readonly #nap = new Nap();

  /**
   * `onChange` is called when the tree is found broken, with the first fault; when that is mended and another is found,
   * with that; and when the tree can be used again. What else fails goes to `onFault`.
   */
  constructor(store: Store, onFault: (error: unknown) => void, onChange: (fault: BrokenTreeError | undefined) => void) {
    this.#store = store;
    this.#onFault = onFault;
    this.#onChange = onChange;
  }

  /** Takes what was found wrong with the tree. */
  tell(fault: BrokenTreeError): void {
    if (this.#fault === undefined) this.#change(fault);
  }

  /** Examines until `stop`. Resolves when it has stopped. */
  run(): Promise<void> {
    return repeat(() => this.#step(), this.#stop.signal, new Backoff(LOOK, MAX_PAUSE), this.#onFault);
  }

  /** Ends `run` after the current step. */
  stop(): void {
    this.#stop.abort();
    this.#nap.wake();
  }

  async #step(): Promise<void> {
    const known = this.#fault;
    try {
      if (known !== undefined) await this.#lookAt(known);
      await examineNodes(this.#store.tree);
      this.#mended(known);
    } catch (error) {
      if (!(error instanceof BrokenTreeError)) throw error;
      // Of two faults the first may be mended: what is told is what is wrong now.
      if (known !== undefined && this.#fault === known && known.message !== error.message) this.#change(error);
      else this.tell(error);
    }
    if (this.#stop.signal.aborted) return;
    await this.#nap.take(this.#fault === undefined ? EXAMINE : LOOK);
  }

  /** A fault that was told meanwhile has not been looked at. */
  #mended(known: BrokenTreeError | undefined): void {
    if (known !== undefined && this.#fault === known) this.#change(undefined);
  }

  #change(fault: BrokenTreeError | undefined): void {
    this.#fault = fault;
    this.#onChange(fault);
    this.#nap.wake();
  }

  /** Rejects with BrokenTreeError while the node of a fault is not what is below it. */
  async #lookAt({ level, index }: BrokenTreeError): Promise<void> {
    const { position } = await this.#store.head();
    // Nodes of no events are removed by a rebuild.
    if ((index + 1) * recordsPerHash(level) > position) return;
    await new Tree(this.#store).readTile({ level: level - 1, index, width: TILE_WIDTH });
  }
}
