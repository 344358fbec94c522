import { leafHash } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import { pause } from '../../time/pause.ts';
import { recordsPerHash } from '../../tlog/tile.ts';
import { TreeNodesOf } from './tree-nodes-of.ts';

/** Nodes to write at once. */
const WRITE = 256;

/** Attempts of a write that conflicts with the service's transactions, and milliseconds between them. */
const ATTEMPTS = 30;
const PAUSE = 100;

/**
 * Rewrites the nodes of the log's tree from all events, a few at a time. The service may read them meanwhile, because a
 * correct node is replaced with itself.
 */
export class TreeRebuild {
  readonly #store: Store;
  readonly #nodes = new TreeNodesOf();
  /** For each level, the nodes from `start` that are not written yet. */
  readonly #waiting = new Map<number, { start: number; nodes: Uint8Array[] }>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Takes the next events. The first call must begin with the first event. */
  async take(events: readonly LoggedEvent[]): Promise<void> {
    for (const event of events)
      for (const { level, index, hash } of this.#nodes.add(leafHash(event))) {
        const waiting = this.#waiting.get(level) ?? { start: index, nodes: [] };
        this.#waiting.set(level, waiting);
        waiting.nodes.push(hash);
        if (waiting.nodes.length === WRITE) await this.#write(level);
      }
  }

  /** Writes the remaining nodes, and removes those beyond the end of the log. */
  async finish(): Promise<void> {
    for (const level of [...this.#waiting.keys()]) await this.#write(level);
    const { tree } = this.#store;
    const { position } = await this.#store.head();
    for (let level = 1; (await tree.count(level)) > 0; level++)
      await persistently(() => tree.truncate(level, Math.floor(position / recordsPerHash(level))));
  }

  async #write(level: number): Promise<void> {
    const { start, nodes } = this.#waiting.get(level)!;
    this.#waiting.delete(level);
    await persistently(() => this.#store.tree.write(level, start, nodes));
  }
}

/** Retries an idempotent step. Rejects with the last error. */
async function persistently(step: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await step();
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
      await pause(PAUSE);
    }
}
