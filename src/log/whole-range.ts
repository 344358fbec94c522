import { BrokenChainError, verifyContent } from './event/chain.ts';
import { type LoggedEvent, plantEventOf } from './event/event.ts';
import type { Store, Unfinished } from './store.ts';

/**
 * The events after position `after`, up to `to` or the log's end. Rejects with BrokenChainError at the first that is
 * missing, so that no reader skips an event without knowing. With `to`, which the log must be known to reach, that
 * holds for its end too.
 */
export async function* wholeRange(
  store: Pick<Store, 'read'>,
  after: number,
  to?: number,
): AsyncGenerator<readonly LoggedEvent[]> {
  let expected = after + 1;
  for await (const events of store.read(after, { to })) {
    for (const { position } of events) {
      if (position !== expected) throw new BrokenChainError(expected, `the next event has position ${position}`);
      expected++;
    }
    yield events;
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

/** Like wholeRange, and rejects at the first event whose content was changed, so that no reader takes it for the log's. */
export async function* intactRange(
  store: Pick<Store, 'read'>,
  after: number,
  to?: number,
): AsyncGenerator<readonly LoggedEvent[]> {
  for await (const events of wholeRange(store, after, to)) {
    for (const event of events) verifyContent(event);
    yield events;
  }
}

/** The event as these erasures leave it: without its content, if one of them erases its owner. */
export function asErased(logged: LoggedEvent, unfinished: readonly Unfinished[]): LoggedEvent {
  const owner = unfinished.length === 0 ? undefined : plantEventOf(logged)?.owner;
  const by = unfinished.find(({ position, erases }) => position > logged.position && erases.owner === owner);
  if (by === undefined) return logged;
  return { ...logged, content: undefined, event: undefined, salt: undefined, erasedBy: by.position };
}
