import { join } from 'node:path';
import type { Inspection } from '../inspection.ts';
import { openReader } from './connection.ts';
import { checkSchema, missingObjects, SCHEMA_VERSION } from './schema.ts';
import { DATABASE_FILE } from './store.ts';

/** Inspects the database in a data directory. Throws when it cannot be read or holds no store of this release. */
export function inspectSqlite(directory: string): Inspection {
  const path = join(directory, DATABASE_FILE);
  const db = openReader(path);
  try {
    checkSchema(db, path);
    const now = Date.now();
    const leases = db
      .prepare('SELECT name, holder, until FROM leases')
      .all()
      .map(({ name, holder, until }) => ({ name: String(name), holder: String(holder), left: Number(until) - now }));
    return {
      schema: SCHEMA_VERSION,
      leases,
      missing: missingObjects(db),
      clockAhead: undefined,
    };
  } finally {
    db.close();
  }
}
