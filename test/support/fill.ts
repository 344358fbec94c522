import { type Plant, plantFields } from '../../src/domain/plant.ts';
import { headAt, seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import type { Store } from '../../src/log/store.ts';
import { NodeBuilder } from '../../src/log/tree/nodes.ts';
import { changesOf } from '../../src/log/view/projector.ts';

const STEP = 5_000;

/** Fills an empty store with one owner's plants 0, 1, 2, ..., all projected. */
export async function fill(
  store: Store,
  plants: number,
  owner: string,
  textOf = (id: number): Plant => ({ name: `Plant ${id}` }),
): Promise<void> {
  let head = EMPTY_HEAD;
  const nodes = new NodeBuilder();
  for (let from = 0; from < plants; from += STEP) {
    const events: LoggedEvent[] = [];
    for (let id = from; id < Math.min(from + STEP, plants); id++) {
      const added = {
        type: 'PlantAdded' as const,
        owner,
        actor: owner,
        plantId: BigInt(id),
        ...plantFields(textOf(id)),
      };
      const event = seal(head, added, eventIdOf(id), 0);
      events.push(event);
      head = headAt(event);
    }
    const appended = await store.append(events);
    const step = [changesOf(events), nodes.add(events)] as const;
    if (appended !== events.length || !(await store.advance(from, head.position, ...step)))
      throw new Error(`the store has other events at ${from}`);
  }
}

const eventIdOf = (id: number): string => `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`;
