import { BrokenChainError } from '../event/chain.ts';
import type { LoggedEvent } from '../event/event.ts';
import type { Store } from '../store.ts';

/**
 * The events after position `from` up to `to`, which the log is known to reach. Rejects with BrokenChainError at the
 * first that is missing: what is hashed without it would be the tree of another log.
 */
export async function* wholeRange(store: Store, from: number, to: number): AsyncGenerator<readonly LoggedEvent[]> {
  let expected = from + 1;
  for await (const events of store.read(from, { to })) {
    for (const { position } of events) {
      if (position !== expected) throw new BrokenChainError(expected, `the next event has position ${position}`);
      expected++;
    }
    yield events;
  }
  if (expected <= to) throw new BrokenChainError(expected, `missing, yet the log was seen to reach ${to}`);
}
