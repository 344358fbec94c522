import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { erasureContract } from './erasure.ts';
import { openSqliteStore } from './open-sqlite.ts';
import { openSqliteDatabase } from './sqlite-database.ts';

/** Every byte of every file of the store. */
const bytesOf = (directory: string): string =>
  readdirSync(directory)
    .map((file) => readFileSync(join(directory, file), 'latin1'))
    .join('\n');

erasureContract('SQLite', async () => {
  const opened = await openSqliteStore();
  return {
    ...opened,
    database: async () => openSqliteDatabase(opened.directory),
    everything: async () => bytesOf(opened.directory),
  };
});
