import { BrokenChainError, verifyContent } from './event/chain.ts';
import { type LoggedEvent, plantEventOf } from './event/event.ts';
import type { Store, Unfinished } from './store.ts';

/**
 * The events after position `after`, up to `to` or the log's end. Rejects with BrokenChainError at the first that is
 * missing, after all before it, so that no reader skips an event without knowing. With `to`, which the log must be
 * known to reach, that holds for its end too.
 */
export async function* wholeRange(
  store: Pick<Store, 'read'>,
  after: number,
  to?: number,
): AsyncGenerator<readonly LoggedEvent[]> {
  let expected = after + 1;
  for await (const events of store.read(after, { to })) {
    const first = expected;
    yield* upToFault(events, ({ position }, index) => {
      if (position !== first + index)
        throw new BrokenChainError(first + index, `the next event has position ${position}`);
    });
    expected += events.length;
  }
  if (to !== undefined && expected <= to)
    throw new BrokenChainError(expected, `missing, although this instance has read the log up to position ${to}`);
}

/** The event at a position. Undefined: the log has none there, or the server of a read does not know it yet. */
export async function eventAt(store: Pick<Store, 'read'>, position: number): Promise<LoggedEvent | undefined> {
  if (position < 1 || !Number.isSafeInteger(position)) return undefined;
  for await (const [event] of store.read(position - 1, { to: position })) return event;
  return undefined;
}

/** Like wholeRange, and also rejects with BrokenChainError at the first event whose content was changed. */
export async function* intactRange(
  store: Pick<Store, 'read'>,
  after: number,
  to?: number,
): AsyncGenerator<readonly LoggedEvent[]> {
  for await (const events of wholeRange(store, after, to)) yield* intact(events);
}

/** These events. Throws BrokenChainError at the first whose content was changed, after all before it. */
export const intact = (events: readonly LoggedEvent[]): Generator<readonly LoggedEvent[]> =>
  upToFault(events, verifyContent);

/** The event as it is once these erasures are complete: without its content if one of them erases its owner. */
export function asErased(logged: LoggedEvent, unfinished: readonly Unfinished[]): LoggedEvent {
  const owner = unfinished.length === 0 ? undefined : plantEventOf(logged)?.owner;
  const by = unfinished.find(({ position, erases }) => position > logged.position && erases.owner === owner);
  if (by === undefined) return logged;
  return { ...logged, content: undefined, event: undefined, salt: undefined, erasedBy: by.position };
}

/** All events, or those before the first for which the check throws; then it throws. */
function* upToFault(
  events: readonly LoggedEvent[],
  check: (event: LoggedEvent, index: number) => void,
): Generator<readonly LoggedEvent[]> {
  let right = 0;
  try {
    for (; right < events.length; right++) check(events[right]!, right);
  } catch (error) {
    if (right > 0) yield events.slice(0, right);
    throw error;
  }
  yield events;
}
