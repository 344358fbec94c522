import type { Store } from '../../log/store.ts';
import { NodeBuilder, nodesOf } from '../../log/tree/nodes.ts';
import { sameHash } from '../../tlog/hash.ts';
import { TILE_WIDTH } from '../../tlog/tile.ts';
import type { Check, Failure } from './check.ts';

/**
 * Does every stored node of the log's tree follow from the events, and is there one for each tile that is whole up to
 * `checkpoint`? That is the read model's checkpoint before the pass: the nodes up to it are stored by then.
 */
export function treeCheck(store: Store, checkpoint: number): Check {
  const builder = new NodeBuilder();
  return {
    question: 'tree',
    async take(events) {
      // Behind a missing event there is no tree.
      const next = builder.position + 1;
      const { first, hashes } = builder.add(events.filter(({ position }, at) => position === next + at));
      if (hashes.length === 0) return undefined;
      const stored = await store.nodes(first, first + hashes.length);
      const isRight = (hash: Uint8Array, at: number) =>
        at < stored.length ? sameHash(stored[at]!, hash) : first + at >= nodesOf(checkpoint);
      const wrong = hashes.findIndex((hash, at) => !isRight(hash, at));
      if (wrong === -1) return undefined;
      return failed(first + wrong, wrong < stored.length ? 'does not match the events' : 'is missing');
    },
    async finish() {
      const { position } = await store.head();
      const next = nodesOf(position);
      const [surplus] = await store.nodes(next, next + 1);
      return surplus && { position: position + 1, message: `missing, but the tree has node ${next}` };
    },
  };
}

const failed = (index: number, why: string): Failure => ({
  position: (index + 1) * TILE_WIDTH,
  message: `node ${index} of the Merkle tree ${why}`,
});
