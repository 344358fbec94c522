import { PlantStoreError } from '../../domain/errors.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { OwnedRow, Store } from '../../log/store.ts';
import { Fold } from './fold.ts';

/** A moment in the history of a log: a position, or milliseconds since 1970. Undefined: its end. */
export type Moment = { readonly position: number } | { readonly time: number } | undefined;

/** The plants as they were at a position, to be read once. */
export interface PlantsAsOf {
  readonly position: number;
  /** In ascending owner (by the bytes of its UTF-8) and id. */
  readonly plants: AsyncIterable<readonly OwnedRow[]>;
}

/**
 * The plants of an owner, or of all, as they were at a moment. It reads the events up to there once, so its time grows with the
 * position; memory does not grow. Rejects with INVALID_FIELD for a position after the head;
 * reading the plants rejects with OWNER_BEING_ERASED while any owner is.
 */
export async function plantsAsOf(store: Store, moment: Moment, owner: string | undefined): Promise<PlantsAsOf> {
  const position = await positionOfMoment(store, moment);
  return { position, plants: foldUpTo(store, position, owner) };
}

async function* foldUpTo(
  store: Store,
  position: number,
  owner: string | undefined,
): AsyncGenerator<readonly OwnedRow[]> {
  await using stack = new AsyncDisposableStack();
  const fold = stack.adopt(new Fold(), (opened) => opened.close());
  await refuseErasures(store);
  for await (const events of store.read(0, { to: position, owner })) await fold.apply(events);
  await refuseErasures(store);
  yield* fold.rows();
}

/** What loses its content in the middle of the reading would leave plants that never were. */
async function refuseErasures(store: Store): Promise<void> {
  if ((await store.erasures()).some(({ erasedBy }) => erasedBy === undefined))
    throw new PlantStoreError('OWNER_BEING_ERASED', 'an owner is being erased; try again when that has ended', {
      retryAfter: 10,
    });
}

async function positionOfMoment(store: Store, moment: Moment): Promise<number> {
  const head = await store.head();
  if (moment === undefined) return head.position;
  if ('time' in moment) return positionAt(store, moment.time);
  const { position } = moment;
  if (position < 0 || position > head.position)
    throw new PlantStoreError('INVALID_FIELD', `position must be from 0 to ${head.position}, the end of the log now`, {
      field: 'position',
    });
  return position;
}

/** The last position whose event is of `time` (milliseconds since 1970) or earlier; 0 for none. Time never falls, so it is searched for by halves. */
export async function positionAt(store: Store, time: number): Promise<number> {
  let low = 0;
  let high = (await store.head()).position;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((await eventAt(store, middle)).time <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

async function eventAt(store: Store, position: number): Promise<LoggedEvent> {
  for await (const [event] of store.read(position - 1)) if (event !== undefined) return event;
  throw new Error(`there is no event at position ${position}`);
}
