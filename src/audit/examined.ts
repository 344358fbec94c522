import { BrokenChainError, headAt, verifyContent, verifyNext } from '../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../log/event/event.ts';
import type { Failure } from './checks/check.ts';
import { Erasures } from './checks/contents.ts';
import { firstFlaw } from './checks/decisions.ts';
import { Fold } from './fold/fold.ts';

/**
 * The same batches, each once everything about it is known to be right: it follows from the batches before it, from the first event
 * of a log on, what each event says is what it commits to, and each was allowed there. Memory is bounded, whatever comes. Rejects with
 * BrokenChainError, before the batch, at the first place where it is not so; and at the end where content is missing without an erasure.
 */
export async function* examined(
  batches: AsyncIterable<readonly LoggedEvent[]>,
): AsyncGenerator<readonly LoggedEvent[]> {
  await using stack = new AsyncDisposableStack();
  const fold = stack.adopt(new Fold({ asksDecisions: true }), (opened) => opened.close());
  const erasures = new Erasures();
  let head: Head = EMPTY_HEAD;
  for await (const batch of batches) {
    for (const event of batch) {
      // The chain is asked first: of a log that was damaged somewhere, it tells where.
      verifyNext(head, event);
      verifyContent(event);
      head = headAt(event);
      refuse(firstFlaw([event]));
    }
    await fold.apply(batch);
    refuse(await fold.misfit());
    erasures.take(batch);
    yield batch;
  }
  // An event is erased before its erasure is seen: only the end tells whether all is there.
  refuse(erasures.failure());
}

function refuse(failure: Failure | undefined): void {
  if (failure !== undefined) throw new BrokenChainError(failure.position!, failure.message);
}
