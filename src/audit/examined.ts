import { BrokenChainError, headAt, verifyNext } from '../log/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../log/event.ts';
import type { Failure } from './check.ts';
import { firstFlaw } from './decisions-check.ts';
import { Fold } from './fold.ts';

/**
 * The same batches, each once everything about it is known to be right: it follows from the batches before it, from the first event
 * of a log on, and each of its events was allowed there. Memory is bounded, whatever comes. Rejects with BrokenChainError, before
 * the batch, at the first place where it is not so.
 */
export async function* examined(
  batches: AsyncIterable<readonly LoggedEvent[]>,
): AsyncGenerator<readonly LoggedEvent[]> {
  await using stack = new AsyncDisposableStack();
  const fold = stack.adopt(new Fold({ asksDecisions: true }), (opened) => opened.close());
  let head: Head = EMPTY_HEAD;
  for await (const batch of batches) {
    for (const event of batch) {
      // The chain is asked first: of a log that was damaged somewhere, it tells where.
      verifyNext(head, event);
      head = headAt(event);
      refuse(firstFlaw([event]));
    }
    await fold.apply(batch);
    refuse(await fold.misfit());
    yield batch;
  }
}

function refuse(failure: Failure | undefined): void {
  if (failure !== undefined) throw new BrokenChainError(failure.position!, failure.message);
}
