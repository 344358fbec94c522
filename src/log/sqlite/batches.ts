import { setImmediate as turn } from 'node:timers/promises';

/** Rows read at once: the event loop is held for about a millisecond. */
const BATCH = 500;

/**
 * Reads a table in batches by key, and lets other work run between them. `page` reads the first rows above a key, in the order
 * of the key; the last batch is the one that comes short.
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
