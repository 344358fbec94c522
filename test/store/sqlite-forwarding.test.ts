import { forwardingContract } from './forwarding.ts';
import { openSqliteStore } from './open-sqlite.ts';

// A service on SQLite is alone. The rules are those of any store, and here instances append hundreds of times a second.
forwardingContract('SQLite', openSqliteStore);
