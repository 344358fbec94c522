import { join } from 'node:path';
import type { Inspection } from '../inspection.ts';
import { openReader } from './connection.ts';
import { REBUILT_TABLES } from './read-model/rebuild.ts';
import { SCHEMA_OBJECTS, SCHEMA_VERSION, versionOf } from './schema.ts';
import { DATABASE_FILE } from './store.ts';

/** Inspects the database in a data directory that holds a store. Throws when it cannot be read. */
export function inspectSqlite(directory: string): Inspection {
  const db = openReader(join(directory, DATABASE_FILE));
  try {
    const names = db.prepare('SELECT name FROM sqlite_schema').all();
    const there = new Set(names.map(({ name }) => String(name)));
    const found = versionOf(db);
    const now = Date.now();
    const leases = db
      .prepare('SELECT name, holder, until FROM leases')
      .all()
      .map(({ name, holder, until }) => ({ name: String(name), holder: String(holder), left: Number(until) - now }));
    const isRebuilding = leases.some(({ name, left }) => name === 'rebuild' && left > 0);
    return {
      schema: { found, known: SCHEMA_VERSION },
      leases,
      leftovers: isRebuilding ? [] : [...there].filter((name) => name.startsWith(REBUILT_TABLES)),
      // The next start adds what an older schema lacks.
      missing: found < SCHEMA_VERSION ? [] : SCHEMA_OBJECTS.filter((name) => !there.has(name)),
      clockAhead: undefined,
    };
  } finally {
    db.close();
  }
}
