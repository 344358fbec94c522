import { setImmediate as turn } from 'node:timers/promises';

/** Rows of one read, which blocks the event loop for about a millisecond. */
const BATCH = 500;

/**
 * Reads a table in batches by key, and lets other work run between them. `page` reads the first rows above a key, in
 * key order. A batch that is not full is the last one.
 */
export async function* batches<Row, Key>(
  page: (after: Key, limit: number) => Row[],
  keyOf: (row: Row) => Key,
  start: Key,
): AsyncGenerator<Row[], void, void> {
  for (let after = start; ; await turn()) {
    const rows = page(after, BATCH);
    if (rows.length > 0) yield rows;
    if (rows.length < BATCH) return;
    after = keyOf(rows.at(-1)!);
  }
}
