import { randomUUID } from 'node:crypto';
import { headAt, seal } from '../../src/log/event/chain.ts';
import { EMPTY_HEAD, type LoggedEvent } from '../../src/log/event/event.ts';
import { FIRST_ID, newPlant } from './plants.ts';

/** Events made at once. */
const PAGE = 500;

/** The owner whose first plants no event deletes. */
export const LISTER = 'owner 0';
/** How many of them there are. */
export const LISTED = 20;

/**
 * A long log in batches. The first events add the lister's plants; then, of five events, four add a plant and one
 * deletes the first of them, for each of the owners in turns.
 */
export async function* history(events: number, owners: number): AsyncGenerator<LoggedEvent[]> {
  let head = EMPTY_HEAD;
  const make = (number: number): LoggedEvent => {
    const group = Math.floor((number - LISTED) / 5);
    const deletes = number >= LISTED && (number - LISTED) % 5 === 4;
    const owner = number < LISTED ? LISTER : `owner ${group % owners}`;
    const { id: plantId, name, tag } = newPlant(FIRST_ID + (deletes ? number - 4 : number));
    const about = { owner, actor: owner, plantId };
    const event = deletes
      ? { type: 'PlantDeleted' as const, ...about }
      : { type: 'PlantAdded' as const, ...about, name, tag };
    const sealed = seal(head, event, randomUUID(), Date.now());
    head = headAt(sealed);
    return sealed;
  };
  for (let from = 0; from < events; from += PAGE)
    yield Array.from({ length: Math.min(PAGE, events - from) }, (_, index) => make(from + index));
}
