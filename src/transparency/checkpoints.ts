import { setTimeout as sleep } from 'node:timers/promises';
import { PlantStoreError } from '../domain/errors.ts';
import { BrokenChainError } from '../log/event/chain.ts';
import type { Head } from '../log/event/event.ts';
import type { TreeNodes } from '../log/tree/nodes.ts';
import { MAX_UNBUILT, type Tree } from '../log/tree/tree.ts';
import { unavailable } from '../log/unavailable.ts';
import { checkTree, proveTree } from '../tlog/proof.ts';
import { TILE_WIDTH } from '../tlog/tile.ts';
import type { LogKey } from './log-key.ts';
import { type SignedCheckpoint, signCheckpoint } from './signed-checkpoint.ts';

/** Milliseconds for which a checkpoint is given out before the next is made. */
export const CHECKPOINT_INTERVAL = 250;

/** Intervals that a caller waits for a checkpoint with a certain event. */
const ATTEMPTS = 12;

/** Gives out checkpoints of the log, none smaller than an earlier one. */
export interface Checkpoints {
  /**
   * A checkpoint that is some seconds old at most. Rejects with PlantStoreError when none can be made, and with BrokenChainError
   * rather than sign what is inconsistent.
   */
  latest(): Promise<SignedCheckpoint>;
}

/** What checkpoints are made of. */
export interface CheckpointOptions {
  /** The end of the log, as a majority has it. */
  readonly head: () => Promise<Head>;
  readonly nodes: TreeNodes;
  readonly tree: Tree;
  readonly key: () => Promise<LogKey>;
}

/**
 * Signs checkpoints, four a second at most, however many ask. Before it signs one it proves to itself that the log still begins
 * with what it signed before: a log must not sign what is inconsistent (c2sp.org/tlog-checkpoint, "Signatures").
 */
export class LogCheckpoints implements Checkpoints {
  readonly #options: CheckpointOptions;
  #last: SignedCheckpoint | undefined;
  #madeAt = Number.NEGATIVE_INFINITY;
  #making: Promise<SignedCheckpoint> | undefined;

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  async latest(): Promise<SignedCheckpoint> {
    if (this.#last !== undefined && performance.now() < this.#madeAt + CHECKPOINT_INTERVAL) return this.#last;
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #make(): Promise<SignedCheckpoint> {
    try {
      const { head, nodes, tree, key } = this.#options;
      const { position } = await head();
      // As far as the tree is built, nearly: after an import it takes a while.
      const reach = (await nodes.count(1)) * TILE_WIDTH + MAX_UNBUILT;
      const size = Math.max(Math.min(position, reach), this.#last?.size ?? 0);
      if (size !== this.#last?.size) {
        const next = await signCheckpoint(tree, size, await key());
        if (this.#last !== undefined) await proveConsistent(tree, next, this.#last);
        this.#last = next;
      }
      this.#madeAt = performance.now();
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
    throw new BrokenChainError(last.size, 'the tree no longer begins with that of the checkpoint that was signed here');
  }
}

/** A checkpoint that has the event at a position, which is in the log. Rejects with OVERLOADED when there is none in time. */
export async function checkpointWith(checkpoints: Checkpoints, position: number): Promise<SignedCheckpoint> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) await sleep(CHECKPOINT_INTERVAL);
    const checkpoint = await checkpoints.latest();
    if (checkpoint.size >= position) return checkpoint;
  }
  throw new PlantStoreError('OVERLOADED', 'no checkpoint has this event yet; try again', { retryAfter: 5 });
}
