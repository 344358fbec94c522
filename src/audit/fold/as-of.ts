import { InvalidFieldError, PlantStoreError } from '../../domain/errors.ts';
import { BrokenChainError } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { OwnedRow, Store } from '../../log/store.ts';
import { eventAt, intactRange } from '../../log/whole-range.ts';
import { partsOf } from '../messages.ts';
import { ErasedMeanwhileError, erasuresSince, eventsOfOwner, steadily, steadyView } from '../steady.ts';
import { Fold } from './fold.ts';

/** A moment in the history of a log: a position, or milliseconds since 1970. Undefined: the end of the log. */
export type Moment = { readonly position: number } | { readonly time: number } | undefined;

/**
 * The plants of one owner, or of all owners, as of a moment, in ascending owner (by the bytes of its UTF-8) and id, in
 * batches that a message has room for. Reads all events up to it in bounded memory. Rejects with INVALID_FIELD for a
 * position after the head. Reading the plants rejects with OWNER_BEING_ERASED when owners are erased one after the
 * other all the while, or while somebody reads slowly, and with the signal's reason once it aborts.
 */
export async function plantsAsOf(store: Store, moment: Moment, owner: string | undefined, signal?: AbortSignal) {
  const position = await positionOfMoment(store, moment);
  return { position, plants: steadily(store, () => foldUpTo(store, position, owner, signal)) };
}

const READ_AGAIN = new PlantStoreError(
  'OWNER_BEING_ERASED',
  'an owner was erased while the plants were read: read them again',
);

async function* foldUpTo(
  store: Store,
  position: number,
  owner: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly OwnedRow[]> {
  const isErased = await erasuresSince(store, owner);
  // `eventsOfOwner` has a view of its own.
  const shown = owner === undefined ? (await steadyView(store)).take : undefined;
  using fold = new Fold({ shown });
  const events =
    owner === undefined ? intactRange(store, 0, position) : eventsOfOwner(store, { to: position, owner, signal });
  for await (const batch of events) {
    signal?.throwIfAborted();
    await fold.apply(batch);
  }
  // Nothing is told yet: it can begin again.
  if (await isErased()) throw new ErasedMeanwhileError();
  for await (const rows of fold.rows())
    for (const part of partsOf(rows)) {
      if (await isErased()) throw READ_AGAIN;
      yield part;
    }
}

async function positionOfMoment(store: Store, moment: Moment): Promise<number> {
  const head = await store.head();
  if (moment === undefined) return head.position;
  if ('time' in moment) return positionAt(store, moment.time);
  const { position } = moment;
  if (position < 0 || position > head.position)
    throw new InvalidFieldError('position', `must be from 0 to ${head.position}, the end of the log now`);
  return position;
}

/** The last position whose event is not after `time` (milliseconds since 1970); 0 if there is none. A binary search. */
export async function positionAt(store: Store, time: number): Promise<number> {
  let low = 0;
  let high = (await store.head()).position;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const event = await eventAt(store, middle);
    if (event === undefined) throw new BrokenChainError(middle, `missing, although the log ends behind it`);
    if (event.time <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The last position whose event is before `time`. */
export const positionBefore = (store: Store, time: number): Promise<number> => positionAt(store, Math.ceil(time) - 1);

/**
 * The events of batches that are at this time or later. Whoever follows a log from a time to come gets events from
 * before it.
 */
export async function* since(
  time: number,
  batches: AsyncIterable<readonly LoggedEvent[]>,
): AsyncGenerator<readonly LoggedEvent[]> {
  for await (const events of batches) {
    const due = events.filter((event) => event.time >= time);
    if (due.length > 0) yield due;
  }
}
