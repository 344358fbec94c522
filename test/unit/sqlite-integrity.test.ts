import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { integrityFault } from '../../src/log/sqlite/damage.ts';
import { DATABASE_FILE } from '../../src/log/sqlite/store.ts';
import { openSqliteStore } from '../store/open-sqlite.ts';
import { added, append } from '../support/events.ts';

test('a page that is damaged is a fault, which names the page; before that there was none', async () => {
  const { store, directory, cleanup } = await openSqliteStore();
  await append(store, ...Array.from({ length: 200 }, (_, id) => added('alice', BigInt(id), 'Fern'.repeat(20))));
  await store.close();
  const path = join(directory, DATABASE_FILE);
  expect(await integrityFault(path)).toBeUndefined();
  const db = new DatabaseSync(path);
  const page = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").get()!.rootpage);
  const size = Number(db.prepare('PRAGMA page_size').get()!.page_size);
  db.close();
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(64, 0xa5), 0, 64, (page - 1) * size);
  await file.close();
  expect(await integrityFault(path)).toContain(`page ${page}`);
  await cleanup();
});
