import { logContracts } from './log-contract.ts';
import { openSqliteStore } from './open-sqlite.ts';

logContracts('SQLite', openSqliteStore);
