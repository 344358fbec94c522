import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { LoggedEvent } from '../../src/log/event/event.ts';
import { EVENT_COLUMNS, eventsOf, KEY_COLUMNS, valuesOf } from '../../src/log/sqlite/events.ts';
import { DATABASE_FILE } from '../../src/log/sqlite/store.ts';
import { encoded } from '../support/encoded.ts';
import type { Kept } from '../support/malformed.ts';
import type { Database } from '../support/tampering.ts';

const COLUMNS: Readonly<Record<keyof Kept, string>> = {
  event: 'event',
  hash: 'hash',
  content: 'content',
  erasedBy: 'erased_by',
  owner: 'owner',
  plantId: 'plant_id',
  idempotencyKey: 'idempotency_key',
};

/** A database of SQLite, to be tampered with. */
export interface SqliteDatabase extends Database {
  readonly db: DatabaseSync;
  /** Changes members of the event at a position. */
  change(position: number, change: (event: LoggedEvent) => object): Promise<void>;
}

/** Members of a content. */
export const said =
  (change: object) =>
  ({ event }: LoggedEvent): object => ({ event: { ...event, ...change } });

/**
 * The SQLite database in a directory, to be tampered with: the triggers that keep events as they are, are gone until it
 * is closed, as no store opens without them.
 */
export function openSqliteDatabase(directory: string): SqliteDatabase {
  const db = new DatabaseSync(join(directory, DATABASE_FILE), { timeout: 10_000 });
  const triggers = db.prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").all();
  db.exec(
    'PRAGMA ignore_check_constraints = ON; DROP TRIGGER events_are_only_erased; DROP TRIGGER events_are_not_deleted',
  );
  const putEvent = db.prepare(
    `INSERT OR REPLACE INTO events (${EVENT_COLUMNS}, ${KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const query = db.prepare(`SELECT ${EVENT_COLUMNS} FROM events WHERE position = ?`);
  query.setReadBigInts(true);
  query.setReturnArrays(true);
  const put = async (event: LoggedEvent) => {
    putEvent.run(...valuesOf(encoded(event)));
    db.exec(`DELETE FROM idempotency_keys;
      INSERT INTO idempotency_keys SELECT owner, idempotency_key, position FROM events WHERE idempotency_key IS NOT NULL`);
  };
  return {
    db,
    putEvent: put,
    change: async (position, change) => {
      const [event] = eventsOf(query, position);
      await put({ ...event!, ...change(event!) });
    },
    keep: async (position, kept) => {
      for (const [name, value] of Object.entries(kept))
        db.prepare(`UPDATE events SET ${COLUMNS[name as keyof Kept]} = ? WHERE position = ?`).run(
          value ?? null,
          position,
        );
    },
    removeEvent: async (position) => {
      for (const table of ['events', 'idempotency_keys'])
        db.prepare(`DELETE FROM ${table} WHERE position = ?`).run(position);
    },
    putPlant: async ({ owner, id, name, tag }) =>
      void db
        .prepare('INSERT OR REPLACE INTO plants (owner, id, name, tag) VALUES (?, ?, ?, ?)')
        .run(owner, id, name, tag ?? null),
    removePlant: async (owner, id) => void db.prepare('DELETE FROM plants WHERE owner = ? AND id = ?').run(owner, id),
    setCheckpoint: async (position) => void db.prepare('UPDATE checkpoints SET position = ?').run(position),
    setUpTo: async (position) => void db.prepare('UPDATE checkpoints SET up_to = ?').run(position),
    removeCheckpoint: async () => db.exec('DELETE FROM checkpoints'),
    putNode: async (index, hash) => void db.prepare('INSERT OR REPLACE INTO tree VALUES (?, ?)').run(index, hash),
    removeNode: async (index) => void db.prepare('DELETE FROM tree WHERE node = ?').run(index),
    close: async () => {
      for (const { sql } of triggers) db.exec(String(sql));
      db.close();
    },
  };
}
