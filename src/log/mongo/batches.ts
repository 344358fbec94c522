/** Most documents of one read, unless told. */
const BATCH = 1_000;

/** The next items of a read. */
export interface Page<Item> {
  readonly items: Item[];
  /** No item follows. */
  readonly whole: boolean;
}

/**
 * Reads in batches. Each batch is a query of its own that continues after the last item of the previous one, so the
 * server holds nothing in between, however slow the reader is. `page` reads the next items, at most `limit`, and at
 * least one if there is one. `most`: the highest limit.
 */
export async function* batches<Item>(
  page: (last: Item | undefined, limit: number) => Promise<Page<Item>>,
  most = BATCH,
): AsyncGenerator<Item[]> {
  let last: Item | undefined;
  for (let limit = most; ; ) {
    const { items, whole } = await page(last, limit);
    if (items.length > 0) yield items;
    if (whole) return;
    last = items.at(-1);
    // Rows cut by the byte limit are read again, so ask next for at most twice what fitted.
    limit = Math.min(most, 2 * items.length);
  }
}
