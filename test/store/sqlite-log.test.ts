import { absentKeysContract } from './absent-keys.ts';
import { idempotencyContract } from './idempotency.ts';
import { instancesContract } from './instances.ts';
import { listsContract } from './lists.ts';
import { logContract } from './log.ts';
import { openSqliteStore } from './open-sqlite.ts';

logContract('SQLite', openSqliteStore);
instancesContract('SQLite', openSqliteStore);
idempotencyContract('SQLite', openSqliteStore);
absentKeysContract('SQLite', openSqliteStore);
listsContract('SQLite', openSqliteStore);
