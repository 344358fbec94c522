import { isSamePlant, plantFields } from '../../domain/plant.ts';
import type { Changes, OwnedRow } from '../../log/store.ts';
import type { Failure } from '../checks/check.ts';
import type { Fold } from './fold.ts';

type Batches = AsyncIterable<readonly OwnedRow[]>;

/**
 * The first difference between the fold of the log and a read model, which must be in ascending order of owner (by
 * UTF-8 bytes) and id, and in batches none of which is empty. Undefined: they are equal. Only one batch of each is in
 * memory. `leaving`: the owner whose rows are being removed, some of which may be missing. Rejects with the signal's
 * reason once it aborts.
 */
export async function firstDifference(
  fold: Fold,
  model: Batches,
  leaving: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Failure | undefined> {
  for await (const { expected, actual } of compared(fold, model, signal)) {
    if (actual === undefined && expected!.owner === leaving) continue;
    if (actual === undefined) return missing(expected!);
    if (expected === undefined) return extra(actual);
    return at(expected, `is ${show(actual)} in the read model, but ${show(expected)} in the log`);
  }
  return undefined;
}

/**
 * What makes a read model equal to the fold, in steps of at most `limit` plants. Reads both as `firstDifference` does.
 */
export async function* differences(fold: Fold, model: Batches, limit: number): AsyncGenerator<Changes> {
  let changes: Changes = { deletes: [], inserts: [] };
  let count = 0;
  for await (const { expected, actual } of compared(fold, model)) {
    if (actual !== undefined) changes.deletes.push({ owner: actual.owner, id: actual.id });
    if (expected !== undefined) changes.inserts.push(expected);
    if (++count < limit) continue;
    yield changes;
    [changes, count] = [{ deletes: [], inserts: [] }, 0];
  }
  if (count > 0) yield changes;
}

/** The rows of the fold and of a read model that differ, by plant. Undefined: there is none. */
async function* compared(fold: Fold, model: Batches, signal?: AbortSignal) {
  let after: OwnedRow | undefined;
  for await (const batch of model) {
    signal?.throwIfAborted();
    const last = batch.at(-1);
    let at = 0;
    for await (const rows of fold.rows({ after, last }))
      for (const expected of rows) {
        for (; isBefore(batch[at], expected); at++) yield { expected: undefined, actual: batch[at] };
        const actual = isBefore(expected, batch[at]) ? undefined : batch[at++];
        if (actual === undefined || !isSamePlant(expected, actual)) yield { expected, actual };
      }
    for (const actual of batch.slice(at)) yield { expected: undefined, actual };
    after = last;
  }
  for await (const rows of fold.rows({ after })) for (const expected of rows) yield { expected, actual: undefined };
}

const missing = (row: OwnedRow): Failure => at(row, `is missing in the read model; in the log it is ${show(row)}`);

const extra = (row: OwnedRow): Failure => at(row, `is ${show(row)} in the read model; the log has no such plant`);

const at = ({ owner, id }: OwnedRow, what: string): Failure => ({
  message: `plant ${id} of ${JSON.stringify(owner)} ${what}`,
  plant: { owner, id },
});

const show = (row: OwnedRow): string => JSON.stringify(plantFields(row));

/** Whether the key of one row is below that of another. Undefined: the end of a batch. */
function isBefore(a: OwnedRow | undefined, b: OwnedRow | undefined): boolean {
  if (a === undefined || b === undefined) return a !== undefined;
  return a.owner === b.owner ? a.id < b.id : Buffer.compare(Buffer.from(a.owner), Buffer.from(b.owner)) < 0;
}
