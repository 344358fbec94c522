import { join } from 'node:path';
import { type Inspection, isHeld } from '../inspection.ts';
import { openReader } from './connection.ts';
import { REBUILT_TABLES } from './read-model/rebuild.ts';
import { checkSchema, missingObjects, SCHEMA_VERSION } from './schema.ts';
import { DATABASE_FILE } from './store.ts';

/** Inspects the database in a data directory. Throws when it cannot be read or holds no store of this release. */
export function inspectSqlite(directory: string): Inspection {
  const path = join(directory, DATABASE_FILE);
  const db = openReader(path);
  try {
    checkSchema(db, path);
    const rebuilt = db.prepare('SELECT name FROM sqlite_schema WHERE name GLOB ?').all(`${REBUILT_TABLES}*`);
    const now = Date.now();
    const leases = db
      .prepare('SELECT name, holder, until FROM leases')
      .all()
      .map(({ name, holder, until }) => ({ name: String(name), holder: String(holder), left: Number(until) - now }));
    const isRebuilding = leases.some((lease) => lease.name === 'rebuild' && isHeld(lease));
    return {
      schema: SCHEMA_VERSION,
      leases,
      leftovers: isRebuilding ? [] : rebuilt.map(({ name }) => String(name)),
      missing: missingObjects(db),
      clockAhead: undefined,
    };
  } finally {
    db.close();
  }
}
