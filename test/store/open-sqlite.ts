import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../../src/log/sqlite/store.ts';
import type { Store } from '../../src/log/store.ts';
import type { OpenedStore } from './open-store.ts';
import { openSqliteDatabase, type SqliteDatabase } from './sqlite-database.ts';

/** An SQLite store, and its database to tamper with. */
export interface OpenedSqlite extends OpenedStore {
  readonly directory: string;
  database(): Promise<SqliteDatabase>;
}

/** An SQLite store in a directory of its own. */
export async function openSqliteStore(): Promise<OpenedSqlite> {
  const directory = mkdtempSync(join(tmpdir(), 'plantstore-sqlite-'));
  const handles: Store[] = [];
  const handle = async () => {
    const store = openSqlite(directory);
    handles.push(store);
    return store;
  };
  const cleanup = async () => {
    // A handle that the test has closed rejects to be closed again.
    await Promise.allSettled(handles.map((store) => store.close()));
    rmSync(directory, { recursive: true });
  };
  const database = async () => openSqliteDatabase(directory);
  return { directory, database, store: await handle(), reopen: handle, second: handle, cleanup };
}
