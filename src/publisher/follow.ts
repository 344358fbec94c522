import type { LoggedEvent } from '../log/event/event.ts';
import type { Store } from '../log/store.ts';
import { intactRange } from '../log/whole-range.ts';
import { pause } from '../time/pause.ts';

/** Milliseconds between two polls for new events. */
const POLL = 50;

/**
 * The events of the log after a position, in order, each once, until the signal aborts. Its only state is a position,
 * so it can neither skip nor repeat an event. Rejects with BrokenChainError where the store has lost one.
 */
export async function* follow(
  store: Pick<Store, 'read'>,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<readonly LoggedEvent[]> {
  let position = after;
  while (!signal.aborted) {
    for await (const batch of intactRange(store, position)) {
      if (signal.aborted) return;
      position = batch.at(-1)!.position;
      yield batch;
    }
    await pause(POLL, signal);
  }
}
