import { DatabaseSync } from 'node:sqlite';
import { privateFile } from './connection.ts';

const LOCK_FILE = 'plantstore.lock';
const SQLITE_BUSY = 5;

/** The locks that this process holds. An unreachable connection would be collected, and its lock with it. */
const held = new Set<DatabaseSync>();

/**
 * Makes this process the only service on a data directory, until it calls what is returned or dies: the kernel then drops the
 * lock, so none is ever stale. Throws when another service has it. It keeps nobody from reading the store.
 */
export function lockDataDirectory(directory: string): () => void {
  // SQLite's own lock on an otherwise unused, empty database: Node has no other that the kernel drops.
  const lock = new DatabaseSync(privateFile(directory, LOCK_FILE));
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    throw new Error(`another service runs on the data directory ${directory}: stop it, or use another directory`);
  }
  held.add(lock);
  return () => {
    if (held.delete(lock)) lock.close();
  };
}
