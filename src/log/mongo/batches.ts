/** Documents read at once. */
export const BATCH = 1_000;

/**
 * Reads in batches, each a query of its own that goes on after the last item of the one before: the server holds nothing in
 * between, however long the reader takes. `page` reads the next items, at most BATCH; the last batch is the one that comes short.
 */
export async function* batches<Item>(page: (last: Item | undefined) => Promise<Item[]>): AsyncGenerator<Item[]> {
  for (let last: Item | undefined; ; ) {
    const items = await page(last);
    if (items.length > 0) yield items;
    if (items.length < BATCH) return;
    last = items.at(-1);
  }
}
