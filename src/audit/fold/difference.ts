import type { OwnedRow } from '../../log/store.ts';
import type { Failure } from '../checks/check.ts';

type Batches = AsyncIterable<readonly OwnedRow[]>;

/**
 * The first place where a read model is not what the fold of the log says, or undefined when they are the same. Both come in
 * ascending owner (by the bytes of its UTF-8) and id; no more than a batch of each is in memory.
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
  if (expected.name === actual.name && expected.tag === actual.tag) return undefined;
  return at(expected, `is ${show(actual)} in the read model, and ${show(expected)} by the log`);
}

const missing = (row: OwnedRow): Failure => at(row, `is missing in the read model; the log says ${show(row)}`);

const extra = (row: OwnedRow): Failure =>
  at(row, `is ${show(row)} in the read model; by the log there is no such plant`);

const at = ({ owner, id }: OwnedRow, what: string): Failure => ({
  message: `plant ${id} of ${JSON.stringify(owner)} ${what}`,
  plant: { owner, id },
});

const show = ({ name, tag }: OwnedRow): string => JSON.stringify({ name, tag });

const compareKeys = (a: OwnedRow, b: OwnedRow): number =>
  Buffer.compare(Buffer.from(a.owner), Buffer.from(b.owner)) || (a.id < b.id ? -1 : 1);

/** RowReader one after the other, out of batches. */
class RowReader implements AsyncDisposable {
  index = 0;
  #batch: readonly OwnedRow[] = [];
  readonly #batches: AsyncIterator<readonly OwnedRow[]>;

  constructor(batches: Batches) {
    this.#batches = batches[Symbol.asyncIterator]();
  }

  /** The next row of the batch; undefined at its end. */
  get row(): OwnedRow | undefined {
    return this.#batch[this.index];
  }

  /** Whether there is a next row; takes the next batch where one is at its end. */
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
