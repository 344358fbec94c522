import { counted } from '../../domain/counted.ts';
import { headAfter, leafHash } from '../../log/event/chain.ts';
import { EMPTY_HEAD, type Head } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import { NodeBuilder, nodeCountOf } from '../../log/tree/nodes.ts';
import type { Checkpoint } from '../../tlog/checkpoint.ts';
import { sameHash } from '../../tlog/hash.ts';
import { TILE_WIDTH } from '../../tlog/tile.ts';
import { Frontier } from '../../tlog/tree.ts';
import { checkpointOf } from '../project.ts';
import type { Check, Failure } from './check.ts';

/** Does the log have every position from 1 to `end`, once and in order, and no other? */
export function positionsCheck(end: number): Check {
  let last = 0;
  return {
    question: 'positions',
    take(events) {
      for (const { position } of events) {
        const expected = last + 1;
        if (position > expected) return { position: expected, message: `missing: ${position} follows ${last}` };
        if (position < expected)
          return { position, message: `out of order or duplicate: it comes after position ${last}` };
        last = position;
      }
      return undefined;
    },
    finish() {
      if (last === end) return undefined;
      return {
        position: last + 1,
        message: `missing: the log ends before it, but the read model has reached ${end}`,
      };
    },
  };
}

/** Does every event continue the chain: does its hash follow, and is its time not earlier than the one before? */
export function chainCheck(): Check {
  let head: Head = EMPTY_HEAD;
  return {
    question: 'chain',
    take(events) {
      head = headAfter(head, events);
      return undefined;
    },
    finish: () => undefined,
  };
}

/** Does the log extend an earlier checkpoint? The tree of its first events must have the root of the checkpoint. */
export function checkpointCheck({ size, root }: Checkpoint): Check {
  const tree = new Frontier();
  return {
    question: 'checkpoint',
    take(events) {
      // Behind a missing event there is no tree.
      for (const event of events) if (tree.size < size && event.position === tree.size + 1) tree.add(leafHash(event));
      return undefined;
    },
    finish() {
      if (tree.size < size)
        return {
          position: tree.size + 1,
          message: `missing, but a checkpoint of ${counted(size, 'event')} was signed`,
        };
      if (sameHash(tree.root, root)) return undefined;
      return {
        position: size,
        message:
          'the events up to here differ from those of the checkpoint: the log was rewritten here or before, or it is another one',
      };
    },
  };
}

/**
 * Does every stored node of the log's tree follow from the events, and is there one for each tile that is whole up to
 * `checkpoint`, and no other? That is the read model's checkpoint before the pass: the nodes up to it are stored by
 * then.
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
        at < stored.length ? sameHash(stored[at]!, hash) : first + at >= nodeCountOf(checkpoint);
      const wrong = hashes.findIndex((hash, at) => !isRight(hash, at));
      if (wrong === -1) return undefined;
      return failed(first + wrong, wrong < stored.length ? 'does not match the events' : 'is missing');
    },
    async finish() {
      // Read before the checkpoint, with which nodes are added.
      const count = await store.nodeCount();
      const position = (await checkpointOf(store)) ?? (await store.head()).position;
      if (count <= nodeCountOf(position)) return undefined;
      const message = `the Merkle tree has ${counted(count, 'node')}, and the events before make ${nodeCountOf(position)}`;
      return { position: position + 1, message };
    },
  };
}

const failed = (index: number, why: string): Failure => ({
  position: (index + 1) * TILE_WIDTH,
  message: `node ${index} of the Merkle tree ${why}`,
});
