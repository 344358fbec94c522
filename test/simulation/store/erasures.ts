import type { Erases, LoggedEvent } from '../../../src/log/event/event.ts';
import { plantEventOf } from '../../../src/log/event/event.ts';
import type { Unfinished } from '../../../src/log/store.ts';
import type { Write } from './database.ts';
import type { State } from './state.ts';

/** See Store.unfinished. */
export const unfinishedIn = ({ events }: State): Unfinished[] =>
  events.filter((event): event is Unfinished => event.erases !== undefined);

/** Removes the content of an owner's events between two positions. Returns their number. */
export function removeContents(
  { events }: State,
  { owner, by, after, to }: { owner: string; by: number; after: number; to: number },
): ReturnType<Write<number>> {
  let removed = 0;
  const left = events.map((logged) => {
    if (logged.position <= after || logged.position > to || plantEventOf(logged)?.owner !== owner) return logged;
    removed++;
    return { ...logged, content: undefined, event: undefined, salt: undefined, erasedBy: by };
  });
  return { changes: removed === 0 ? {} : { events: left }, result: removed };
}

/** Changes what stands beside an OwnerErased event whose erasure is not complete. */
export function changeErases(
  { events }: State,
  positions: readonly number[],
  change: (erases: Erases) => Erases | undefined,
): ReturnType<Write<void>> {
  const changed = ({ erases, ...logged }: LoggedEvent): LoggedEvent => {
    const next = erases && change(erases);
    return { ...logged, ...(next && { erases: next }) };
  };
  const left = events.map((logged) =>
    positions.includes(logged.position) && logged.erases ? changed(logged) : logged,
  );
  return { changes: { events: left }, result: undefined };
}
