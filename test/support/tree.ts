import { leafHash } from '../../src/log/event/chain.ts';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import type { Checkpoint } from '../../src/tlog/checkpoint.ts';
import { Frontier } from '../../src/tlog/tree.ts';

/** The root of the Merkle tree of events. */
export function rootOf(events: readonly LoggedEvent[]): Uint8Array {
  const tree = new Frontier();
  for (const event of events) tree.add(leafHash(event));
  return tree.root;
}

/** The checkpoint of a log with these events. */
export const checkpointOf = (events: readonly LoggedEvent[]): Checkpoint => ({
  origin: 'log.example',
  size: events.length,
  root: rootOf(events),
});
