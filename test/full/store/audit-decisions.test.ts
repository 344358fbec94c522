import { decisionsContract } from '../../store/audit-decisions.ts';
import { openSqliteStore } from '../../store/open-sqlite.ts';

decisionsContract('SQLite', openSqliteStore);
