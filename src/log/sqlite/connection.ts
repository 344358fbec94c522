import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Milliseconds to wait for another process that holds a lock: a reader that starts or ends holds one for a moment. Short, since
 * the event loop stands still meanwhile.
 */
export const BUSY_TIMEOUT = 250;

/** Bytes that the write-ahead log keeps on disk once it is done with; what a long snapshot made it grow beyond is given back. */
const WAL_KEPT = 64 * 1024 * 1024;

/**
 * The path of a file in a directory, both made if they are missing, for their owner alone. SQLite gives the files that it puts
 * beside a database the mode of the database.
 */
export function privateFile(directory: string, name: string): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, name);
  try {
    // Only a file that was not there is opened: closing any descriptor of a file drops all POSIX locks of this process on it.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return path;
}

/**
 * Opens a database to write to. What is deleted is overwritten. FULL: a commit is on disk when it returns. NORMAL: a power cut may lose the last commits. Throws where
 * the file cannot have a write-ahead log, as on most network file systems: SQLite then says which mode it keeps, and goes on.
 */
export function openWriter(path: string, synchronous: 'FULL' | 'NORMAL'): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
  try {
    const { journal_mode: mode } = db.prepare('PRAGMA journal_mode = WAL').get()!;
    if (mode !== 'wal')
      throw new Error(`${path} cannot have a write-ahead log (its journal mode stays ${mode}): put it on a local disk`);
    db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA secure_delete = ON; PRAGMA journal_size_limit = ${WAL_KEPT}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens a database that exists, to read from. */
export const openReader = (path: string): DatabaseSync =>
  new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT });

/** Does all of the work, or rejects it with nothing done; either way the connection is free for the next transaction. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  // The write lock comes first, so that what the work reads cannot change before it writes.
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } finally {
    // After a failure SQLite has rolled back by itself for some errors (a full disk), and not for others.
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}
