import { basename, dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { aboutFile, naming, privateFile, SQLITE_BUSY } from './files.ts';

/** The locks of this process. An unreachable connection would be garbage-collected together with its lock. */
const held = new Set<DatabaseSync>();

/**
 * Takes the lock of a file, which has no other use and is created if it is missing, until the returned function is
 * called or the process dies. The kernel then drops the lock, so no lock is ever stale. Undefined: another has it.
 */
export function tryLock(file: string): (() => void) | undefined {
  // SQLite's own lock on an empty database: Node has no other lock that the kernel drops.
  const path = privateFile(dirname(file), basename(file));
  const db = naming(path, () => new DatabaseSync(path));
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if ((error as { readonly errcode?: number }).errcode !== SQLITE_BUSY) throw aboutFile(path, error);
    return undefined;
  }
  held.add(db);
  return () => {
    if (held.delete(db)) db.close();
  };
}
