import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import { NodeBuilder, nodesOf } from '../../log/tree/nodes.ts';
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
  readonly #store: Store;
  /** The checkpoint before the pass: the nodes up to it are stored by then. */
  readonly #checkpoint: number;
  readonly #builder = new NodeBuilder();
  #stored: { readonly first: number; readonly nodes: readonly Uint8Array[] } = { first: 0, nodes: [] };

  constructor(store: Store, checkpoint: number) {
    this.#store = store;
    this.#checkpoint = checkpoint;
  }

  async take(events: readonly LoggedEvent[]): Promise<Failure | undefined> {
    // Behind a missing event there is no tree.
    const next = this.#builder.position + 1;
    const { first, hashes } = this.#builder.add(events.filter(({ position }, at) => position === next + at));
    for (const [at, hash] of hashes.entries()) {
      const failure = await this.#compare(first + at, hash);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  async finish(): Promise<Failure | undefined> {
    const { position } = await this.#store.head();
    const next = nodesOf(position);
    const [surplus] = await this.#store.nodes(next, next + 1);
    if (surplus === undefined) return undefined;
    return { position: position + 1, message: `missing, but the tree has node ${next}` };
  }

  async #compare(index: number, hash: Uint8Array): Promise<Failure | undefined> {
    const stored = await this.#storedAt(index);
    if (stored === undefined) return index < nodesOf(this.#checkpoint) ? failed(index, 'is missing') : undefined;
    return sameHash(stored, hash) ? undefined : failed(index, 'does not match the events');
  }

  async #storedAt(index: number): Promise<Uint8Array | undefined> {
    const { first, nodes } = this.#stored;
    if (index < first + nodes.length) return nodes[index - first];
    this.#stored = { first: index, nodes: await this.#store.nodes(index, index + READ) };
    return this.#stored.nodes[0];
  }
}

const failed = (index: number, why: string): Failure => ({
  position: (index + 1) * TILE_WIDTH,
  message: `node ${index} of the tree ${why}`,
});
