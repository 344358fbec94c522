import { isSamePlant, type Plant } from '../../../src/domain/plant.ts';
import type { PlantRow } from '../../../src/log/store.ts';
import type { ListQuery } from '../../../src/log/view/listing.ts';
import type { Plants, Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** What was acknowledged when a call began, and what a majority had when it ended: its answer is as of between. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const show = (rows: readonly PlantRow[]): string => `[${rows.map(({ id, name }) => `${id} ${name}`).join(', ')}]`;

/** What a query gets of plants. */
export function listOf(plants: Plants, { after, limit }: ListQuery): PlantRow[] {
  return [...plants]
    .map(([id, plant]) => ({ id, ...plant }))
    .filter(({ id }) => after === undefined || id > after)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, limit ?? Number.POSITIVE_INFINITY);
}

const isSameList = (a: readonly PlantRow[], b: readonly PlantRow[]): boolean =>
  a.length === b.length && a.every((row, index) => row.id === b[index]!.id && isSamePlant(row, b[index]!));

/** Judges a list: it is the fold at its position, which is within the span. Throws Violation. */
export function judgeList(
  truth: Truth,
  query: ListQuery,
  rows: readonly PlantRow[],
  position: number,
  span: Span,
): void {
  const { owner } = query;
  const last = truth.events.length;
  // The list is exact at its position, and may be at later ones: it shows all that was acknowledged if it is at one.
  const expected = listOf(truth.plantsAt(owner, position), query);
  if (!isSameList(rows, expected))
    throw new Violation('list', `a list of ${owner} at ${position} is ${show(rows)}, and was ${show(expected)}`, owner);
  if (position > last)
    throw new Violation('list', `a list of ${owner} is at ${position}, and the log ends at ${last}`, owner);
  for (let at = Math.max(span.from, position); at <= Math.max(span.to, position); at++)
    if (isSameList(rows, listOf(truth.plantsAt(owner, at), query))) return;
  throw new Violation('list', `a list of ${owner} at ${position} lacks what was acknowledged at ${span.from}`, owner);
}

/** Judges what was found of one plant: it was so at some position within the span. Throws Violation. */
export function judgeGet(truth: Truth, owner: string, id: bigint, found: Plant | undefined, span: Span): void {
  const isRight = wasSo(truth, span, owner, (plants) => {
    const plant = plants.get(id);
    return plant === undefined || found === undefined ? plant === found : isSamePlant(plant, found);
  });
  if (!isRight)
    throw new Violation(
      'get',
      `plant ${id} of ${owner} is ${found?.name}, and was not from ${span.from} to ${span.to}`,
      owner,
    );
}

/** Whether something was so at a position within a span. */
export function wasSo(truth: Truth, { from, to }: Span, owner: string, is: (plants: Plants) => boolean): boolean {
  for (let at = from; at <= to; at++) if (is(truth.plantsAt(owner, at))) return true;
  return false;
}
