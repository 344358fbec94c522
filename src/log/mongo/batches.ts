/** Documents of one read. */
export const BATCH = 1_000;

/**
 * Reads in batches. Each batch is a query of its own that continues after the last item of the previous one, so the
 * server holds nothing in between, however slow the reader is. `page` reads the next items, at most BATCH. A batch that
 * is not full is the last one.
 */
export async function* batches<Item>(page: (last: Item | undefined) => Promise<Item[]>): AsyncGenerator<Item[]> {
  for (let last: Item | undefined; ; ) {
    const items = await page(last);
    if (items.length > 0) yield items;
    if (items.length < BATCH) return;
    last = items.at(-1);
  }
}
