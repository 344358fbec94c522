import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import { Tree } from '../../src/log/tree/tree.ts';
import { TreeEdge } from '../../src/tlog/tree-edge.ts';
import { CheckedTiles } from '../../src/transparency/checked-tiles.ts';
import type { LogCheckpoints } from '../../src/transparency/checkpoints.ts';
import { fill } from '../support/fill.ts';

test('only what a signed tree covers may be kept for ever', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-tiles-'));
  const store = openSqlite(directory);
  try {
    await fill(store, 300, 'alice');
    const tree = new Tree(store);
    const edge = await TreeEdge.read(290, tree);
    const tiles = new CheckedTiles(tree, { edge: async () => edge } as unknown as LogCheckpoints);
    const isFinal = async (index: number, width: number) => [
      (await tiles.readTile({ level: 0, index, width })).isFinal,
      (await tiles.readEntries(index, width)).isFinal,
    ];
    expect(await isFinal(0, 256)).toEqual([true, true]);
    expect(await isFinal(0, 100)).toEqual([true, true]);
    expect(await isFinal(1, 34)).toEqual([true, true]);
    expect(await isFinal(1, 35)).toEqual([false, false]);
  } finally {
    await store.close();
    rmSync(directory, { recursive: true });
  }
});
