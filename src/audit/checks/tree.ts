import { leafHash } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import { examineNodes } from '../../log/tree/health.ts';
import { BrokenTreeError } from '../../log/tree/nodes.ts';
import { sameHash } from '../../tlog/hash.ts';
import { recordsPerHash } from '../../tlog/tile.ts';
import { TreeNodesOf } from '../rebuild/tree-nodes-of.ts';
import type { Check, Failure } from './check.ts';

/** Nodes to read at once. */
const READ = 1_024;

/**
 * Does every stored node of the log's tree follow from the events, and is none lost? A node after the last that is
 * stored is no failure: those of the last events are written later.
 */
export class TreeCheck implements Check {
  readonly question = 'tree';
  failure: Failure | undefined;
  readonly #store: Store;
  readonly #nodes = new TreeNodesOf();
  readonly #kept = new Map<number, { start: number; nodes: readonly Uint8Array[] }>();

  constructor(store: Store) {
    this.#store = store;
  }

  async take(events: readonly LoggedEvent[]): Promise<void> {
    if (this.failure !== undefined) return;
    await this.#finding(async () => {
      for (const event of events)
        for (const { level, index, hash } of this.#nodes.add(leafHash(event))) {
          const kept = await this.#keptAt(level, index);
          if (kept !== undefined && !sameHash(kept, hash))
            throw new BrokenTreeError(level, index, 'does not follow from the events');
        }
    });
  }

  /** Runs a part of the check. The first fault of the tree that it rejects with is the failure. */
  async #finding(part: () => Promise<unknown>): Promise<void> {
    try {
      await part();
    } catch (error) {
      if (!(error instanceof BrokenTreeError)) throw error;
      const { level, index, why } = error;
      const position = (index + 1) * recordsPerHash(level);
      this.failure ??= { position, message: `node ${index} of level ${level} of the tree ${why}`, tree: error };
    }
  }

  async finish(): Promise<void> {
    const { position } = await this.#store.head();
    for (let level = 1; ; level++) {
      const count = await this.#store.tree.count(level);
      if (count === 0) break;
      if (count * recordsPerHash(level) > position)
        this.failure ??= {
          position: position + 1,
          message: `missing, but the tree has ${count} nodes of level ${level}`,
        };
    }
    if (this.failure === undefined) await this.#finding(() => examineNodes(this.#store.tree));
  }

  async #keptAt(level: number, index: number): Promise<Uint8Array | undefined> {
    const kept = this.#kept.get(level);
    if (kept !== undefined && index < kept.start + READ) return kept.nodes[index - kept.start];
    const nodes = await this.#store.tree.read(level, index, index + READ);
    this.#kept.set(level, { start: index, nodes });
    return nodes[0];
  }
}
