import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { privateFile, SQLITE_BUSY } from './connection.ts';
import { naming } from './damage.ts';
import { DATABASE_FILE } from './store.ts';

const LOCK_FILE = 'plantstore.lock';

/** The locks of this process. An unreachable connection would be garbage-collected together with its lock. */
const held = new Set<DatabaseSync>();

/**
 * Makes this process the only service on a data directory and on its database, until the returned function is called or
 * the process dies. The kernel then drops the lock, so no lock is ever stale. Throws when another service has it. Other
 * processes can still read the store. `advice`: what to do then, for the message.
 */
export function lockDataDirectory(
  directory: string,
  advice = 'stop it first, or start this one with a DATA_DIR of its own',
): () => void {
  const unlock = lockFolder(directory, advice);
  try {
    const folder = folderOfDatabase(directory);
    if (folder === undefined) return unlock;
    const unlockDatabase = lockFolder(folder, advice);
    return () => {
      unlockDatabase();
      unlock();
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** The folder of the database itself, if a symbolic link in the data directory leads to it. */
function folderOfDatabase(directory: string): string | undefined {
  const database = join(directory, DATABASE_FILE);
  if (!existsSync(database)) return undefined;
  const folder = dirname(realpathSync(database));
  return folder === realpathSync(directory) ? undefined : folder;
}

function lockFolder(directory: string, advice: string): () => void {
  // SQLite's own lock on an otherwise unused, empty database: Node has no other lock that the kernel drops.
  const path = privateFile(directory, LOCK_FILE);
  const lock = naming(path, () => new DatabaseSync(path));
  try {
    naming(path, () => lock.exec('BEGIN EXCLUSIVE'));
  } catch (error) {
    lock.close();
    if (((error as Error).cause as { errcode?: number } | undefined)?.errcode !== SQLITE_BUSY) throw error;
    throw new Error(`another service runs on the data directory ${directory}: ${advice}`);
  }
  held.add(lock);
  return () => {
    if (held.delete(lock)) lock.close();
  };
}
