import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EVENT_COLUMNS, KEY_COLUMNS, valuesOf } from '../../src/log/sqlite/events.ts';
import { DATABASE_FILE } from '../../src/log/sqlite/store.ts';
import { encoded } from '../support/encoded.ts';
import type { Database } from '../support/tampering.ts';

/**
 * The SQLite database in a directory, to be tampered with: the triggers that keep events as they are, are gone until it
 * is closed, as no store opens without them.
 */
export function openSqliteDatabase(directory: string): Database & { readonly db: DatabaseSync } {
  const db = new DatabaseSync(join(directory, DATABASE_FILE), { timeout: 10_000 });
  const triggers = db.prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").all();
  db.exec(
    'PRAGMA ignore_check_constraints = ON; DROP TRIGGER events_are_only_erased; DROP TRIGGER events_are_not_deleted',
  );
  const putEvent = db.prepare(
    `INSERT OR REPLACE INTO events (${EVENT_COLUMNS}, ${KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return {
    db,
    putEvent: async (event) => void putEvent.run(...valuesOf(encoded(event))),
    removeEvent: async (position) => void db.prepare('DELETE FROM events WHERE position = ?').run(position),
    putPlant: async ({ owner, id, name, tag }) =>
      void db.prepare('INSERT OR REPLACE INTO plants VALUES (?, ?, ?, ?)').run(owner, id, name, tag ?? null),
    removePlant: async (owner, id) => void db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?').run(owner, id),
    setCheckpoint: async (position) => void db.prepare('UPDATE checkpoints SET position = ?').run(position),
    removeCheckpoint: async () => db.exec('DELETE FROM checkpoints'),
    close: async () => {
      for (const { sql } of triggers) db.exec(String(sql));
      db.close();
    },
  };
}
