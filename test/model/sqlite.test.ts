import { historiesContract } from './histories.ts';
import { openSqlitePlatform } from './sqlite-platform.ts';

historiesContract('SQLite', openSqlitePlatform);
