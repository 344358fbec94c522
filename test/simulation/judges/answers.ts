import { isSamePlant, type Plant } from '../../../src/domain/plant.ts';
import type { PlantRow } from '../../../src/log/store.ts';
import type { ListQuery } from '../../../src/log/view/listing.ts';
import type { Plants, Truth } from './truth.ts';
import { Violation } from './violation.ts';

/** What somebody knew of when a call began, and what a majority had when it ended: its answer is as of between. */
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

/** Whether two lists are alike. */
export const isSameList = (a: readonly PlantRow[], b: readonly PlantRow[]): boolean =>
  a.length === b.length && a.every((row, index) => row.id === b[index]!.id && isSamePlant(row, b[index]!));

/** What a client got of a list. */
export interface Got {
  readonly rows: readonly PlantRow[];
  /** The last id, if a limit cut the list. */
  readonly next: bigint | undefined;
  readonly position: number;
}

/** Judges a list: it is the fold at its position, and has all that somebody knew of. Throws Violation. */
export function judgeList(truth: Truth, query: ListQuery, { rows, next, position }: Got, span: Span): void {
  const { owner, limit } = query;
  const wrong = (what: string) => new Violation('list', `a list of ${owner} at ${position} ${what}`, owner);
  const last = truth.events.length;
  const all = listOf(truth.plantsAt(owner, position), { ...query, limit: undefined });
  const expected = all.slice(0, limit);
  if (!isSameList(rows, expected)) throw wrong(`is ${show(rows)}, and was ${show(expected)}`);
  const isCut = rows.length > 0 && all.length > rows.length;
  if (next !== (isCut ? rows.at(-1)!.id : undefined)) throw wrong(`goes on after ${next}, and had ${show(all)}`);
  if (position > last) throw wrong(`is beyond the end of the log at ${last}`);
  // The list is exact at its position, and may be so at later ones too.
  for (let at = Math.max(span.from, position); at <= Math.max(span.to, position); at++)
    if (isSameList(rows, listOf(truth.plantsAt(owner, at), query))) return;
  throw wrong(`lacks what was known at ${span.from}`);
}

/**
 * Judges what was found of one plant, and returns the first position within the span at which it was so. Throws
 * Violation.
 */
export function judgeGet(truth: Truth, owner: string, id: bigint, found: Plant | undefined, span: Span): number {
  const position = firstSo(truth, span, owner, (plants) => {
    const plant = plants.get(id);
    return plant === undefined || found === undefined ? plant === found : isSamePlant(plant, found);
  });
  if (position !== undefined) return position;
  throw new Violation(
    'get',
    `plant ${id} of ${owner} is ${found?.name}, and was not from ${span.from} to ${span.to}`,
    owner,
  );
}

/** The first position within a span at which something was so. */
export function firstSo(
  truth: Truth,
  { from, to }: Span,
  owner: string,
  is: (plants: Plants) => boolean,
): number | undefined {
  for (let at = from; at <= to; at++) if (is(truth.plantsAt(owner, at))) return at;
  return undefined;
}
