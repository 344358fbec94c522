import type { LoggedEvent } from '../../log/event/event.ts';
import type { Changes, Store } from '../../log/store.ts';
import { changesOf } from '../../log/view/projector.ts';

/** The changes that events make to a read model, in steps of a size that a store takes at once, with each step's last position. */
export function* stepsOf(store: Store, events: readonly LoggedEvent[]): Generator<{ to: number; changes: Changes }> {
  for (let from = 0; from < events.length; from += store.advanceLimit) {
    const step = events.slice(from, from + store.advanceLimit);
    yield { to: step.at(-1)!.position, changes: changesOf(step) };
  }
}

/** Advances the read model to the end of the log. Others may do the same meanwhile. */
export async function project(store: Store): Promise<void> {
  let from = await store.checkpoint();
  for await (const batch of store.read(from))
    for (const { to, changes } of stepsOf(store, batch)) {
      // Somebody else's step: from where that ends, all of it is read again.
      if (!(await store.advance(from, to, changes))) return project(store);
      from = to;
    }
}
