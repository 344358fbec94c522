import { counted } from '../../counted.ts';
import { headAfter, leafHash } from '../../log/event/chain.ts';
import { EMPTY_HEAD, type Head } from '../../log/event/event.ts';
import type { Checkpoint } from '../../tlog/checkpoint.ts';
import { sameHash } from '../../tlog/hash.ts';
import { Frontier } from '../../tlog/tree.ts';
import type { Check } from './check.ts';

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

/**
 * Does every event continue the chain? Its hash must follow from its content and the previous hash, and its time must
 * not be earlier than the previous time.
 */
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
      for (const event of events) if (tree.size < size) tree.add(leafHash(event));
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
