import { isSamePlant, plantFields } from '../../domain/plant.ts';
import type { OwnedRow } from '../../log/store.ts';
import type { Failure } from '../checks/check.ts';

type Batches = AsyncIterable<readonly OwnedRow[]>;

/**
 * The first difference between the fold of the log and a read model; undefined if they are equal. Both must be in
 * ascending order of owner (by UTF-8 bytes) and id. Only one batch of each is in memory.
 */
export async function firstDifference(fold: Batches, model: Batches): Promise<Failure | undefined> {
  await using expected = new RowReader(fold);
  await using actual = new RowReader(model);
  while ((await expected.more()) && (await actual.more())) {
    for (; expected.row !== undefined && actual.row !== undefined; expected.index++, actual.index++) {
      const failure = difference(expected.row, actual.row);
      if (failure !== undefined) return failure;
    }
  }
  if (await expected.more()) return missing(expected.row!);
  if (await actual.more()) return extra(actual.row!);
  return undefined;
}

function difference(expected: OwnedRow, actual: OwnedRow): Failure | undefined {
  if (expected.owner !== actual.owner || expected.id !== actual.id)
    return compareKeys(expected, actual) < 0 ? missing(expected) : extra(actual);
  if (isSamePlant(expected, actual)) return undefined;
  return at(expected, `is ${show(actual)} in the read model, but ${show(expected)} in the log`);
}

const missing = (row: OwnedRow): Failure => at(row, `is missing in the read model; in the log it is ${show(row)}`);

const extra = (row: OwnedRow): Failure => at(row, `is ${show(row)} in the read model; the log has no such plant`);

const at = ({ owner, id }: OwnedRow, what: string): Failure => ({
  message: `plant ${id} of ${JSON.stringify(owner)} ${what}`,
  plant: { owner, id },
});

const show = (row: OwnedRow): string => JSON.stringify(plantFields(row));

const compareKeys = (a: OwnedRow, b: OwnedRow): number =>
  Buffer.compare(Buffer.from(a.owner), Buffer.from(b.owner)) || (a.id < b.id ? -1 : 1);

/** Reads rows one by one from batches. */
class RowReader implements AsyncDisposable {
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
