import type { LoggedEvent } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import { wholeRange } from '../log/whole-range.ts';
import { SteadyView } from './steady.ts';

/**
 * The events after a position up to the log's end, such that an import accepts them: where one is erased, they go on
 * until the OwnerErased event. Rejects with ErasedMeanwhileError when contents were removed while they were read.
 */
export async function* exportedEvents(
  store: Store,
  after: number,
  end: number,
): AsyncGenerator<readonly LoggedEvent[]> {
  const view = await SteadyView.open(store, { isWhole: after === 0 });
  for (let [last, to] = [after, end]; last < to; ) {
    const goal = to;
    for await (const events of wholeRange(store, last, goal)) {
      const shown = view.take(events);
      for (const { erasedBy = 0 } of shown) to = Math.max(to, erasedBy);
      yield shown;
    }
    last = goal;
  }
}
