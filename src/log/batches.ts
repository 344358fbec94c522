import { yieldTurn } from '../time/host.ts';
import type { FirstRows, Store } from './store.ts';

/** Most rows of one read, unless told. */
const BATCH_ROWS = 1_000;

/** The next rows of a read, and whether none follow. */
export type Page<Row> = Pick<FirstRows<Row>, 'rows' | 'whole'>;

/**
 * Reads in batches, and lets other work run between them. Each batch is a query of its own that continues after the
 * last row of the previous one, so the database holds nothing in between, however slow the reader is. `page` reads the
 * next rows, at most `limit`, and at least one if there is one. `most`: the highest limit. Rejects with the signal's
 * reason before the next read once it aborts.
 */
export async function* batches<Row>(
  page: (last: Row | undefined, limit: number) => Promise<Page<Row>>,
  { most = BATCH_ROWS, signal }: { readonly most?: number; readonly signal?: AbortSignal | undefined } = {},
): AsyncGenerator<Row[]> {
  let last: Row | undefined;
  for (let limit = most; ; await yieldTurn()) {
    signal?.throwIfAborted();
    const { rows, whole } = await page(last, limit);
    if (rows.length > 0) yield rows;
    if (whole) return;
    last = rows.at(-1);
    // Rows cut by a bound on bytes are read again, so ask next for at most twice what fitted.
    limit = Math.min(most, 2 * rows.length);
  }
}

/** Searches so many positions at a time, up to `to` or the log's end: no query takes long, however few events match. */
export async function* searched<Found>(
  { head }: Pick<Store, 'head'>,
  after: number,
  to: number | undefined,
  positions: number,
  find: (after: number, to: number) => AsyncIterable<Found>,
): AsyncGenerator<Found> {
  const { position } = await head();
  const end = Math.min(position, to ?? position);
  for (let from = after; from < end; from += positions) yield* find(from, Math.min(from + positions, end));
}

/** The array in slices of at most `size` items, in order. */
export function* slices<T>(array: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < array.length; start += size) yield array.slice(start, start + size);
}

/** Splits items into runs of at most `most` bytes, or one item, and of at most `count` items. No run is empty. */
export function* runs<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  most: number,
  count = Number.POSITIVE_INFINITY,
): Generator<readonly Item[]> {
  let start = 0;
  let bytes = 0;
  for (let end = 0; end < items.length; end++) {
    const size = bytesOf(items[end]!);
    if (end - start === count || (end > start && bytes + size > most)) {
      yield items.slice(start, end);
      start = end;
      bytes = 0;
    }
    bytes += size;
  }
  if (start < items.length) yield start === 0 ? items : items.slice(start);
}
