import { batches, type Page } from '../batches.ts';
import { SHORT_LIST } from '../row-size.ts';
import type { ReadQueue } from './read-queue.ts';

/** Rows of the first query of a read: with the longest texts, half a MiB and a few milliseconds. */
const FIRST_QUERY_ROWS = 64;

/** Most rows of one query, of a read whose first rows were small: at worst 2 MiB of plants, and 4 of events. */
const MAX_QUERY_ROWS = 256;

const BATCH_ROWS = 500;

/** Bytes, by `bytesOf`, after which a read ends: a list that has more is long. */
const MAX_BYTES = SHORT_LIST;

/** A table or a part of it, in the order of a key. */
export interface Table<Row> {
  /** Rows after the last one that was read, or the first ones. */
  rows(last: Row | undefined, limit: number): Row[];
  /** Most bytes of these rows in memory. */
  bytesOf(rows: readonly Row[]): number;
}

/** The first rows, or the next: as many as the limit or the bound on bytes allows, and at least one if there is one. */
export function firstRows<Row>(table: Table<Row>, last: Row | undefined, limit: number): Page<Row> {
  const rows: Row[] = [];
  for (let bytes = 0; ; ) {
    const wanted = Math.min(FIRST_QUERY_ROWS + rows.length, MAX_QUERY_ROWS, limit - rows.length);
    const found = table.rows(rows.at(-1) ?? last, wanted);
    rows.push(...found);
    if (found.length < wanted) return { rows, whole: true };
    bytes += table.bytesOf(found);
    if (rows.length === limit || bytes > MAX_BYTES) return { rows, whole: false };
  }
}

/** Reads a table in batches, in its turn of the queue. `owner`: whose rows they are. `signal`: see `batches`. */
export const tableBatches = <Row>(
  reads: ReadQueue,
  owner: string | undefined,
  table: Table<Row>,
  signal?: AbortSignal,
): AsyncGenerator<Row[]> =>
  batches((last, limit) => reads.do(owner, () => firstRows(table, last, limit)), { most: BATCH_ROWS, signal });
