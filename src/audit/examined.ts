import { BrokenChainError, headAt, verifyContent, verifyNext } from '../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../log/event/event.ts';
import type { Failure } from './checks/check.ts';
import { Erasures } from './checks/contents.ts';
import { flawOf } from './checks/decisions.ts';
import { Fold } from './fold/fold.ts';

/**
 * Passes batches of a log on, from its first event, after verifying them: the chain, the contents, and whether each
 * event was allowed on the state before it. Memory is bounded for any input. Rejects with BrokenChainError at the first
 * failure, before the batch that contains it; and at the end, if content is missing without an erasure.
 */
export async function* examined(
  batches: AsyncIterable<readonly LoggedEvent[]>,
): AsyncGenerator<readonly LoggedEvent[]> {
  using fold = new Fold({ asksDecisions: true });
  const erasures = new Erasures();
  let head: Head = EMPTY_HEAD;
  for await (const batch of batches) {
    for (const event of batch) {
      // The chain comes first, because it locates damage.
      verifyNext(head, event);
      verifyContent(event);
      head = headAt(event);
      refuse(flawOf(event));
    }
    await fold.apply(batch);
    refuse(fold.misfit);
    erasures.take(batch);
    yield batch;
  }
  // An erased event precedes its OwnerErased event, so the counts are known only at the end.
  refuse(erasures.failure());
}

function refuse(failure: Failure | undefined): void {
  if (failure !== undefined) throw new BrokenChainError(failure.position!, failure.message);
}
