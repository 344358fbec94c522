import { storeContract } from './contract.ts';
import { openSqliteStore } from './open-sqlite.ts';

storeContract('SQLite', openSqliteStore);
