import type { State } from '../store/state.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** Judges what was imported of an export, or why it was not. Throws Violation. */
export function judgeMove(truth: Truth, { events, rows }: State, fault: unknown): void {
  if (fault !== undefined) throw new Violation('move', `an export is not imported: ${fault}`);
  for (const [index, { hash }] of events.entries())
    if (Buffer.compare(hash, truth.events[index]!.hash) !== 0)
      throw new Violation('move', `the imported event at ${index + 1} is another one`);
  const end = events.length;
  const owners = new Set([...rows.values()].map(({ owner }) => owner));
  for (const owner of owners) {
    const count = [...rows.values()].filter((row) => row.owner === owner).length;
    if (count !== truth.plantsAt(owner, end).size)
      throw new Violation('move', `${owner} has ${count} plants after the import`, owner);
  }
}
