import { isSamePlant, plantFields } from '../../domain/plant.ts';
import type { Changes, OwnedRow } from '../../log/store.ts';
import type { Failure } from '../checks/check.ts';

type Batches = AsyncIterable<readonly OwnedRow[]>;

/**
 * The first difference between the fold of the log and a read model; undefined if they are equal. Both must be in
 * ascending order of owner (by UTF-8 bytes) and id. Only one batch of each is in memory. `leaving`: the owner whose
 * rows are being removed, some of which may be missing.
 */
export async function firstDifference(
  fold: Batches,
  model: Batches,
  leaving: string | undefined,
): Promise<Failure | undefined> {
  for await (const { expected, actual } of compared(fold, model)) {
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
export async function* differences(fold: Batches, model: Batches, limit: number): AsyncGenerator<Changes> {
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
async function* compared(fold: Batches, model: Batches) {
  await using expected = new RowCursor(fold);
  await using actual = new RowCursor(model);
  while ((await expected.more()) && (await actual.more())) {
    // In one turn as long as both have rows: a step of a generator for each would take most of the time.
    while (expected.row !== undefined && actual.row !== undefined) {
      const order = compareKeys(expected.row, actual.row);
      if (order !== 0 || !isSamePlant(expected.row, actual.row))
        yield { expected: order <= 0 ? expected.row : undefined, actual: order >= 0 ? actual.row : undefined };
      if (order <= 0) expected.index++;
      if (order >= 0) actual.index++;
    }
  }
  for (; await expected.more(); expected.index++) yield { expected: expected.row, actual: undefined };
  for (; await actual.more(); actual.index++) yield { expected: undefined, actual: actual.row };
}

const missing = (row: OwnedRow): Failure => at(row, `is missing in the read model; in the log it is ${show(row)}`);

const extra = (row: OwnedRow): Failure => at(row, `is ${show(row)} in the read model; the log has no such plant`);

const at = ({ owner, id }: OwnedRow, what: string): Failure => ({
  message: `plant ${id} of ${JSON.stringify(owner)} ${what}`,
  plant: { owner, id },
});

const show = (row: OwnedRow): string => JSON.stringify(plantFields(row));

function compareKeys(a: OwnedRow, b: OwnedRow): number {
  if (a.owner !== b.owner) return Buffer.compare(Buffer.from(a.owner), Buffer.from(b.owner));
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

class RowCursor implements AsyncDisposable {
  index = 0;
  #batch: readonly OwnedRow[] = [];
  readonly #batches: AsyncIterator<readonly OwnedRow[]>;

  constructor(batches: Batches) {
    this.#batches = batches[Symbol.asyncIterator]();
  }

  /** The current row of the batch; undefined at its end. */
  get row(): OwnedRow | undefined {
    return this.#batch[this.index];
  }

  /** Whether there is a row. Takes the next batch if the current one is at its end. */
  async more(): Promise<boolean> {
    while (this.row === undefined) {
      const next = await this.#batches.next();
      if (next.done === true) return false;
      this.#batch = next.value;
      this.index = 0;
    }
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#batches.return?.();
  }
}
