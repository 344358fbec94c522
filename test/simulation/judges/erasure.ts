import type { Erased } from '../../../src/log/erasure/eraser.ts';
import { plantEventOf } from '../../../src/log/event/event.ts';
import type { State } from '../store/state.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/**
 * Judges the outcome of an erasure: the log says so, and the database has nothing of the owner from before. `from`: the
 * position of the last event that somebody knew of when the erasure was asked for.
 */
export function judgeErased(truth: Truth, state: State, owner: string, { position }: Erased, from: number): void {
  const remains = (what: string) => new Violation('remains', `${owner} is erased at ${position}: ${what}`, owner);
  if (position === undefined) {
    const before = [...truth.of(owner, from)].findLast((event) => plantEventOf(event) !== undefined);
    if (before !== undefined && before.position > truth.erasedAt(owner))
      throw remains(`nothing to erase, and there is ${before.position}`);
    return;
  }
  if (state.upTo > (state.checkpoint ?? 0) && state.upTo === position) throw remains('its rows are being removed');
  const event = truth.events[position - 1];
  if (event?.type !== 'OwnerErased' || truth.erasedOwners.get(event.eventId) !== owner)
    throw remains('the log says something else');
  // Who asks twice may get the outcome of the first.
  judgeRemains(truth, state, owner, position);
}

/** Throws Violation when the database has something of an owner from before a position. */
export function judgeRemains(truth: Truth, state: State, owner: string, position: number): void {
  const remains = (what: string) => new Violation('remains', `${owner} is erased at ${position}: ${what}`, owner);
  for (const logged of state.events)
    if (logged.position < position && plantEventOf(logged)?.owner === owner)
      throw remains(`the event at ${logged.position} has its content`);
  const added = [...truth.of(owner)].filter(({ event }) => event?.type === 'PlantAdded');
  // The same request may be made again in the second life.
  for (const { id, name } of [...state.rows.values()].filter((row) => row.owner === owner)) {
    const last = added.findLast(
      ({ event }) => event?.type === 'PlantAdded' && event.plantId === id && event.name === name,
    );
    if (last !== undefined && last.position < position) throw remains(`the row of ${name.slice(0, 20)} is there`);
  }
}
