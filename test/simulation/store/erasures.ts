import type { Erasure } from '../../../src/log/erasure/erasure.ts';
import { plantEventOf } from '../../../src/log/event/event.ts';
import type { Write } from './database.ts';
import type { State } from './state.ts';

/** The order of Store.erasures. */
export const inOrderOfBeginning = (a: Erasure, b: Erasure): number =>
  a.since - b.since || (a.eventId < b.eventId ? -1 : 1);

/** See Store.beginErasure. */
export function beginErasure({ erasures }: State, erasure: Erasure): ReturnType<Write<void>> {
  const isThere = erasures.some(({ owner }) => owner === erasure.owner);
  return { changes: isThere ? {} : { erasures: [...erasures, erasure] }, result: undefined };
}

/** Removes the content of an owner's events between two positions. Returns their number. */
export function removeContents(
  { events }: State,
  { owner, by, after, to }: { owner: string; by: number; after: number; to: number },
): ReturnType<Write<number>> {
  let removed = 0;
  const left = events.map((logged) => {
    if (logged.position <= after || logged.position > to || plantEventOf(logged)?.owner !== owner) return logged;
    removed++;
    return { ...logged, event: undefined, content: undefined, salt: undefined, erasedBy: by };
  });
  return { changes: removed === 0 ? {} : { events: left }, result: removed };
}

/** Changes what is noted of an erasure. */
export const noteErasure = ({ erasures }: State, eventId: string, what: Partial<Erasure>): ReturnType<Write<void>> => ({
  changes: { erasures: erasures.map((erasure) => (erasure.eventId === eventId ? { ...erasure, ...what } : erasure)) },
  result: undefined,
});

/** See Store.endErasure. */
export const endErasure = ({ erasures }: State, eventId: string): ReturnType<Write<void>> => ({
  changes: { erasures: erasures.filter((erasure) => erasure.eventId !== eventId) },
  result: undefined,
});
