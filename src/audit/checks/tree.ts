import type { LoggedEvent } from '../../log/event/event.ts';
import { leafHash } from '../../log/event/leaf.ts';
import type { Store } from '../../log/store.ts';
import { sameHash } from '../../tlog/hash.ts';
import { recordsPerHash } from '../../tlog/tile.ts';
import { TreeNodesOf } from '../rebuild/tree-nodes-of.ts';
import type { Check, Failure } from './check.ts';

/** Nodes to read at once. */
const READ = 1_024;

/**
 * Does every stored node of the log's tree follow from the events? A node that is not stored is no failure: those of
 * the last events are written later.
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
    for (const event of events)
      for (const { level, index, hash } of this.#nodes.add(leafHash(event))) {
        const kept = await this.#keptAt(level, index);
        if (kept === undefined || sameHash(kept, hash)) continue;
        const position = (index + 1) * recordsPerHash(level);
        this.failure ??= {
          position,
          message: `node ${index} of level ${level} of the tree does not follow from the events`,
        };
      }
  }

  async finish(): Promise<void> {
    const { position } = await this.#store.head();
    for (let level = 1; ; level++) {
      const count = await this.#store.tree.count(level);
      if (count === 0) return;
      if (count * recordsPerHash(level) > position)
        this.failure ??= {
          position: position + 1,
          message: `missing, but the tree has ${count} nodes of level ${level}`,
        };
    }
  }

  async #keptAt(level: number, index: number): Promise<Uint8Array | undefined> {
    const kept = this.#kept.get(level);
    if (kept !== undefined && index < kept.start + READ) return kept.nodes[index - kept.start];
    const nodes = await this.#store.tree.read(level, index, index + READ);
    this.#kept.set(level, { start: index, nodes });
    return nodes[0];
  }
}
