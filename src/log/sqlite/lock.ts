import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { tryLock } from '../../files.ts';
import { DATABASE_FILE } from './store.ts';

const LOCK_FILE = 'plantstore.lock';

/**
 * Makes this process the only service on a data directory and on its database, until the returned function is called or
 * the process dies. The kernel then drops the lock, so no lock is ever stale. Throws when another service has it. Other
 * processes can still read the store. `advice`: what to do then, for the message.
 */
export function lockDataDirectory(
  directory: string,
  advice = 'stop it first, or start this one with a DATA_DIR of its own',
): () => void {
  const unlock = lock(join(directory, LOCK_FILE), `the data directory ${directory}: ${advice}`);
  try {
    const database = existingDatabase(directory);
    if (database === undefined || lockOf(database) === join(realpathSync(directory), LOCK_FILE)) return unlock;
    const unlockDatabase = lock(lockOf(database), `the database ${database}: ${advice}`);
    return () => {
      unlockDatabase();
      unlock();
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** The database itself, where a symbolic link in the data directory leads. Undefined: there is none yet. */
function existingDatabase(directory: string): string | undefined {
  const database = join(directory, DATABASE_FILE);
  return existsSync(database) ? realpathSync(database) : undefined;
}

/** A folder may have databases of many services, but only one of the usual name, which is that of a data directory. */
function lockOf(database: string): string {
  const name = basename(database);
  return join(dirname(database), name === DATABASE_FILE ? LOCK_FILE : `${name}.lock`);
}

/** `what`: what is locked, and what to do if another process has it, for the message. */
function lock(file: string, what: string): () => void {
  const unlock = tryLock(file);
  if (unlock === undefined) throw new Error(`another process of plantstore uses ${what}`);
  return unlock;
}
