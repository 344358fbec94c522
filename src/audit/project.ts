import type { LoggedEvent } from '../log/event/event.ts';
import type { Changes, Nodes, Store } from '../log/store.ts';
import { NodeBuilder } from '../log/tree/nodes.ts';
import { changesOf, removeRows, stepOf } from '../log/view/projector.ts';
import { intactRange } from '../log/whole-range.ts';

/** What a step of the read model needs, up to a position. */
interface ProjectedStep {
  readonly step: readonly LoggedEvent[];
  readonly to: number;
  readonly changes: Changes;
  readonly nodes: Nodes;
}

/** The steps of a read model by events, each of at most the store's limit. */
function* stepsOf(store: Store, builder: NodeBuilder, events: readonly LoggedEvent[]): Generator<ProjectedStep> {
  for (let from = 0; from < events.length; ) {
    const step = stepOf(events.slice(from, from + store.advanceLimit));
    from += step.length;
    yield { step, to: step.at(-1)!.position, changes: changesOf(step), nodes: builder.add(step) };
  }
}

/**
 * Advances the read model to the end of the log, and returns its position. Other projectors may run meanwhile.
 * `written`: the last events of the log, if the caller has them. They are not read again.
 */
export async function project(store: Store, written: readonly LoggedEvent[] = []): Promise<number> {
  let from = await store.checkpoint();
  const builder = await NodeBuilder.after(store, from);
  for await (const batch of written[0]?.position === from + 1 ? [written] : intactRange(store, from))
    for (const { step, to, changes, nodes } of stepsOf(store, builder, batch)) {
      // Another projector has advanced it: start again from the new checkpoint.
      if (!(await removeRows(store, step)) || !(await store.advance(from, to, changes, nodes))) return project(store);
      from = to;
    }
  return from;
}
