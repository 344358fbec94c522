import type { LoggedEvent } from '../log/event/event.ts';
import { BrokenReadModelError, type Store } from '../log/store.ts';
import { NodeBuilder } from '../log/tree/nodes.ts';
import { advanced, changesOf, firstStep } from '../log/view/projector.ts';
import { intactRange } from '../log/whole-range.ts';

/**
 * Advances the read model to the end of the log, and returns its position. Other projectors may run meanwhile.
 * `written`: the last events of the log, if the caller has them: they are not read again. `changes`: what the events of
 * a step change.
 */
export async function project(
  store: Store,
  { written = [], changes = changesOf }: { written?: readonly LoggedEvent[]; changes?: typeof changesOf } = {},
): Promise<number> {
  let from = await store.checkpoint();
  const builder = await NodeBuilder.after(store, from);
  for await (const batch of written[0]?.position === from + 1 ? [written] : intactRange(store, from))
    for (let rest = batch; rest.length > 0; ) {
      const step = firstStep(rest.slice(0, store.advanceLimit));
      rest = rest.slice(step.length);
      const to = step.at(-1)!.position;
      const nodes = builder.add(step);
      const isDone = await advanced(store, [from, to, changes(step), nodes], (pace) => pace.rest().then(() => true));
      // Another projector has advanced it: start again from the new checkpoint.
      if (!isDone) return project(store, { changes });
      from = to;
    }
  return from;
}

/** The checkpoint of the read model. Undefined: the store has lost it. */
export async function checkpointOf(store: Store): Promise<number | undefined> {
  try {
    return await store.checkpoint();
  } catch (error) {
    if (error instanceof BrokenReadModelError) return undefined;
    throw error;
  }
}
