import { describe } from 'vitest';
import { HAS_MONGODB, openMongoStore } from './open-mongo.ts';
import { openSqliteStore } from './open-sqlite.ts';
import { watchContract } from './watch.ts';

watchContract('SQLite', openSqliteStore);
describe.runIf(HAS_MONGODB)('MongoDB', () => watchContract('MongoDB', openMongoStore));
