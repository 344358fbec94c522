import { expect, test } from 'vitest';
import type { PlantRow } from '../../src/log/store.ts';
import { beyondFirstPage, pages } from '../../src/plants/pages.ts';

const LARGE = '🌱'.repeat(1024);

test('a page is read from batches no further than it reaches, and all of a list that is shorter', async () => {
  let taken = 0;
  let left = false;
  async function* batches(count: number, text: string): AsyncGenerator<PlantRow[]> {
    try {
      for (taken = 0; taken < count; ) {
        const first = taken++ * 64;
        yield Array.from({ length: 64 }, (_, index) => ({ id: BigInt(first + index), name: text, tag: text }));
      }
    } finally {
      left = true;
    }
  }
  const rows = await beyondFirstPage(batches(16, LARGE));
  expect([taken, left]).toEqual([2, true]);
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 128 }, (_, id) => BigInt(id)));
  expect([...pages(rows)].length).toBeGreaterThan(1);
  expect(await beyondFirstPage(batches(3, 'Fern'))).toHaveLength(192);
  expect(taken).toBe(3);
  expect(await beyondFirstPage(batches(0, 'Fern'))).toEqual([]);
});
