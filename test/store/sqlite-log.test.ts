import { brokenReadModelContract } from './broken-read-model.ts';
import { idempotencyContract } from './idempotency.ts';
import { knownKeysContract } from './known-keys.ts';
import { listsContract } from './lists.ts';
import { logContract } from './log.ts';
import { openSqliteStore } from './open-sqlite.ts';
import { pinnedContract } from './pinned.ts';
import { repairedContract, repairsContract } from './repaired.ts';
import { restoredContract } from './restored.ts';
import { openSqliteDatabase } from './sqlite-database.ts';

logContract('SQLite', openSqliteStore);
idempotencyContract('SQLite', openSqliteStore);
knownKeysContract('SQLite', openSqliteStore);
listsContract('SQLite', openSqliteStore);
const withDatabase = async () => {
  const opened = await openSqliteStore();
  return { ...opened, database: async () => openSqliteDatabase(opened.directory) };
};

pinnedContract('SQLite', openSqliteStore);
restoredContract('SQLite', withDatabase);
repairedContract('SQLite', withDatabase);
repairsContract('SQLite', withDatabase);
brokenReadModelContract('SQLite', withDatabase);
