import { PlantStoreError } from '../domain/errors.ts';
import { BrokenChainError } from '../log/event/chain.ts';
import type { Head } from '../log/event/event.ts';
import type { TreeNodes } from '../log/tree/nodes.ts';
import { MAX_UNBUILT, type Tree } from '../log/tree/tree.ts';
import { unavailable } from '../log/unavailable.ts';
import { monotonic } from '../time/host.ts';
import { pause } from '../time/pause.ts';
import { checkTree, proveTree } from '../tlog/proof.ts';
import { TILE_WIDTH } from '../tlog/tile.ts';
import type { TreeEdge } from '../tlog/tree-edge.ts';
import type { LogKey } from './log-key.ts';
import { type SignedCheckpoint, signCheckpoint } from './signed-checkpoint.ts';

/** Milliseconds for which a checkpoint is served before a new one is made. */
export const CHECKPOINT_INTERVAL = 250;

/** Intervals that a caller waits for a checkpoint that includes an event. */
const ATTEMPTS = 12;

/** Serves checkpoints of the log. None is smaller than an earlier one. */
export interface Checkpoints {
  /**
   * A checkpoint that is at most some seconds old. Rejects with PlantStoreError if there is none, and with
   * BrokenChainError rather than sign an inconsistent one.
   */
  latest(): Promise<SignedCheckpoint>;
}

/** Dependencies of LogCheckpoints. */
export interface CheckpointOptions {
  /** The end of the log, confirmed by a majority. */
  readonly head: () => Promise<Head>;
  readonly nodes: TreeNodes;
  readonly tree: Tree;
  readonly key: () => Promise<LogKey>;
}

/**
 * Signs at most four checkpoints per second, for any number of callers. Before signing, it verifies that the log
 * extends the previous checkpoint: a log must not sign inconsistent ones (c2sp.org/tlog-checkpoint, "Signatures").
 */
export class LogCheckpoints implements Checkpoints {
  readonly #options: CheckpointOptions;
  #last: SignedCheckpoint | undefined;
  /** The edge of the tree of the last checkpoint. */
  #edge: TreeEdge | undefined;
  #madeAt = Number.NEGATIVE_INFINITY;
  #making: Promise<SignedCheckpoint> | undefined;

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  async latest(): Promise<SignedCheckpoint> {
    if (this.#last !== undefined && monotonic() < this.#madeAt + CHECKPOINT_INTERVAL) return this.#last;
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  /**
   * The edge of the last signed tree, in which any damage to the store since then shows. If that tree is smaller than
   * `size`, tries to sign a newer one first. Rejects like `latest`.
   */
  async edge(size: number): Promise<TreeEdge> {
    if (this.#edge === undefined || this.#edge.size < size) await this.latest();
    return this.#edge!;
  }

  async #make(): Promise<SignedCheckpoint> {
    try {
      const { head, nodes, tree, key } = this.#options;
      const { position } = await head();
      // At most a little beyond the built part of the tree. After an import, building takes a while.
      const reach = (await nodes.count(1)) * TILE_WIDTH + MAX_UNBUILT;
      const size = Math.max(Math.min(position, reach), this.#last?.size ?? 0);
      if (size !== this.#last?.size) {
        const edge = await tree.edge(size, this.#last?.size);
        const next = await signCheckpoint(edge, size, await key());
        if (this.#last !== undefined) await proveConsistent(tree, next, this.#last);
        [this.#last, this.#edge] = [next, edge];
      }
      this.#madeAt = monotonic();
      return this.#last;
    } catch (error) {
      throw unavailable(error);
    }
  }
}

async function proveConsistent(tree: Tree, next: SignedCheckpoint, last: SignedCheckpoint): Promise<void> {
  const proof = await proveTree(next.size, last.size, tree.at(next.size));
  try {
    checkTree(proof, next.size, next.root, last.size, last.root);
  } catch {
    await tree.explain(next.size);
    throw new BrokenChainError(last.size, 'the tree no longer extends the checkpoint that was signed at this size');
  }
}

/** A checkpoint that includes the event at a position of the log. Rejects with OVERLOADED if there is none in time. */
export async function checkpointWith(checkpoints: Checkpoints, position: number): Promise<SignedCheckpoint> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) await pause(CHECKPOINT_INTERVAL);
    const checkpoint = await checkpoints.latest();
    if (checkpoint.size >= position) return checkpoint;
  }
  throw new PlantStoreError('OVERLOADED', 'no checkpoint includes this event yet; try again', { retryAfter: 5 });
}
