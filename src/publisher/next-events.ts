import type { LoggedEvent } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import { intactRange } from '../log/whole-range.ts';

/** No further batch of the store is read once there are this many events. */
const ENOUGH = 4_000;

/**
 * The next events of the log after a position, in order; none at its end. They are few under light load and many while
 * catching up. Ends before an event that the store has lost or whose content was changed, and rejects with
 * BrokenChainError if that is the first.
 */
export async function nextEvents(store: Pick<Store, 'read'>, after: number): Promise<readonly LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  try {
    for await (const batch of intactRange(store, after)) {
      events.push(...batch);
      if (events.length >= ENOUGH) break;
    }
  } catch (error) {
    if (events.length === 0) throw error;
  }
  return events;
}
