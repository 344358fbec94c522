/** Most documents of one read. */
const BATCH = 1_000;

/**
 * Most bytes of the documents of one read, in BSON. A list in memory (SHORT_LIST) has hardly ever more: only the owner,
 * who is in each row, can be longer than the rest. Such a list takes several reads. 1,000 events have some 315 KB unless
 * their texts are long.
 */
export const MOST_BYTES = 384 * 1024;

/** The next items of a read. */
export interface Page<Item> {
  readonly items: Item[];
  /** No item follows. */
  readonly whole: boolean;
}

/**
 * Reads in batches. Each batch is a query of its own that continues after the last item of the previous one, so the
 * server holds nothing in between, however slow the reader is. `page` reads the next items, at most `limit`, and at
 * least one if there is one. `first`: the limit of the first read.
 */
export async function* batches<Item>(
  page: (last: Item | undefined, limit: number) => Promise<Page<Item>>,
  first = BATCH,
): AsyncGenerator<Item[]> {
  let last: Item | undefined;
  for (let limit = first; ; ) {
    const { items, whole } = await page(last, limit);
    if (items.length > 0) yield items;
    if (whole) return;
    last = items.at(-1);
    // What is too much at once is looked at once more by the next query: so not much of it.
    limit = items.length === limit ? BATCH : Math.min(BATCH, 2 * items.length);
  }
}
