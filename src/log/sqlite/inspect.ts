import { join } from 'node:path';
import type { Inspection } from '../inspection.ts';
import { openReader } from './connection.ts';
import { REBUILT_TABLES } from './read-model/rebuild.ts';
import { checkSchema, SCHEMA_OBJECTS, SCHEMA_VERSION } from './schema.ts';
import { DATABASE_FILE } from './store.ts';

/** Inspects the database in a data directory. Throws when it cannot be read or holds no store of this release. */
export function inspectSqlite(directory: string): Inspection {
  const path = join(directory, DATABASE_FILE);
  const db = openReader(path);
  try {
    checkSchema(db, path);
    const names = db.prepare('SELECT name FROM sqlite_schema').all();
    const there = new Set(names.map(({ name }) => String(name)));
    const now = Date.now();
    const leases = db
      .prepare('SELECT name, holder, until FROM leases')
      .all()
      .map(({ name, holder, until }) => ({ name: String(name), holder: String(holder), left: Number(until) - now }));
    const isRebuilding = leases.some(({ name, left }) => name === 'rebuild' && left > 0);
    return {
      schema: SCHEMA_VERSION,
      leases,
      leftovers: isRebuilding ? [] : [...there].filter((name) => name.startsWith(REBUILT_TABLES)),
      missing: SCHEMA_OBJECTS.filter((name) => !there.has(name)),
      clockAhead: undefined,
    };
  } finally {
    db.close();
  }
}
