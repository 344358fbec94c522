import type { LoggedEvent } from '../../log/event/event.ts';
import type { Changes, Store } from '../../log/store.ts';
import { changesOf } from '../../log/view/projector.ts';
import { intactRange } from '../../log/whole-range.ts';

/** The changes of a read model by events, in steps of at most the store's limit, each with its last position. */
export function* stepsOf(store: Store, events: readonly LoggedEvent[]): Generator<{ to: number; changes: Changes }> {
  for (let from = 0; from < events.length; from += store.advanceLimit) {
    const step = events.slice(from, from + store.advanceLimit);
    yield { to: step.at(-1)!.position, changes: changesOf(step) };
  }
}

/** Advances the read model to the end of the log. Other projectors may run meanwhile. */
export async function project(store: Store): Promise<void> {
  let from = await store.checkpoint();
  for await (const batch of intactRange(store, from))
    for (const { to, changes } of stepsOf(store, batch)) {
      // Another projector has advanced it: start again from the new checkpoint.
      if (!(await store.advance(from, to, changes))) return project(store);
      from = to;
    }
}
