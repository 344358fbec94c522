import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import { BrokenTreeError, NodeBuilder, nodesOf } from '../../log/tree/nodes.ts';
import { sameHash } from '../../tlog/hash.ts';
import { TILE_WIDTH } from '../../tlog/tile.ts';
import type { Check, Failure } from './check.ts';

/** Nodes to read at once. */
const READ = 1_024;

/**
 * Does every stored node of the log's tree follow from the events, and is there one for each tile that is whole up to
 * the read model's checkpoint?
 */
export class TreeCheck implements Check {
  readonly question = 'tree';
  failure: Failure | undefined;
  readonly #store: Store;
  /** The checkpoint before the pass: the nodes up to it are stored by then. */
  readonly #checkpoint: number;
  readonly #builder = new NodeBuilder();
  #stored: { readonly first: number; readonly nodes: readonly Uint8Array[] } = { first: 0, nodes: [] };

  constructor(store: Store, checkpoint: number) {
    this.#store = store;
    this.#checkpoint = checkpoint;
  }

  async take(events: readonly LoggedEvent[]): Promise<void> {
    if (this.failure !== undefined) return;
    // Behind a missing event there is no tree.
    const next = this.#builder.position + 1;
    const { first, hashes } = this.#builder.add(events.filter(({ position }, at) => position === next + at));
    await this.#finding(async () => {
      for (const [at, hash] of hashes.entries()) await this.#compare(first + at, hash);
    });
  }

  async finish(): Promise<void> {
    const { position } = await this.#store.head();
    const next = nodesOf(position);
    await this.#finding(async () => {
      const [surplus] = await this.#store.nodes(next, next + 1);
      if (surplus !== undefined)
        this.failure ??= { position: position + 1, message: `missing, but the tree has node ${next}` };
    });
  }

  async #compare(index: number, hash: Uint8Array): Promise<void> {
    const stored = await this.#storedAt(index);
    if (stored === undefined) {
      if (index < nodesOf(this.#checkpoint)) throw this.#failed(index, 'is missing');
    } else if (!sameHash(stored, hash)) throw this.#failed(index, 'does not match the events');
  }

  #failed(index: number, why: string): BrokenTreeError {
    this.failure ??= { position: (index + 1) * TILE_WIDTH, message: `node ${index} of the tree ${why}` };
    return new BrokenTreeError(`node ${index} ${why}`);
  }

  /** Runs a part of the check, which ends with the first fault of the tree. */
  async #finding(part: () => Promise<void>): Promise<void> {
    try {
      await part();
    } catch (error) {
      if (!(error instanceof BrokenTreeError)) throw error;
      this.failure ??= { message: error.why };
    }
  }

  async #storedAt(index: number): Promise<Uint8Array | undefined> {
    const { first, nodes } = this.#stored;
    if (index < first + nodes.length) return nodes[index - first];
    this.#stored = { first: index, nodes: await this.#store.nodes(index, index + READ) };
    return this.#stored.nodes[0];
  }
}
