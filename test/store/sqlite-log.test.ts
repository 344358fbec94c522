import { idempotencyContract } from './idempotency.ts';
import { instancesContract } from './instances.ts';
import { knownKeysContract } from './known-keys.ts';
import { listsContract } from './lists.ts';
import { logContract } from './log.ts';
import { openSqliteStore } from './open-sqlite.ts';

logContract('SQLite', openSqliteStore);
instancesContract('SQLite', openSqliteStore);
idempotencyContract('SQLite', openSqliteStore);
knownKeysContract('SQLite', openSqliteStore);
listsContract('SQLite', openSqliteStore);
