import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { SQLITE_BUSY } from '../../file-lock.ts';
import { DamagedStoreError, type StoreFault } from '../store.ts';
import { NOT_WRITTEN } from './connection.ts';

/** A page is malformed (SQLITE_CORRUPT), or the first one is not SQLite's (SQLITE_NOTADB). */
const DAMAGE = [11, 26];

/** Whether SQLite has found its file damaged. */
export function isDamage(error: unknown): error is Error {
  const { errcode } = error as { readonly errcode?: number };
  // An extended code has the code in its low byte.
  return errcode !== undefined && DAMAGE.includes(errcode & 0xff);
}

/** The same error; one of SQLite names the file, since SQLite never does. A damaged file makes a DamagedStoreError. */
export const aboutStore = (path: string, error: unknown): unknown =>
  isDamage(error) ? new DamagedStoreError(path, error) : aboutFile(path, error);

/** Does the work on a file of SQLite that holds no store. An error of SQLite then names the file. */
export function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw aboutFile(path, error);
  }
}

/** The same error; one of SQLite names the file, and says what to do if that is in use, full, or may not be used. */
export function aboutFile(path: string, error: unknown): unknown {
  const { code, message, errcode = 0 } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  return code === 'ERR_SQLITE_ERROR' ? new Error(`${path}${wordsFor(errcode, message)}`, { cause: error }) : error;
}

/** What is said after the name of a database that another process holds. */
export const IN_USE =
  ' is in use by another program, such as a backup or a shell of sqlite3 (lsof names it): end that, or wait for its end, and try again';

/** This user may not write to the database (SQLITE_READONLY), or not open it or a file beside it (SQLITE_CANTOPEN). */
const NO_RIGHTS = [8, 14];

/**
 * A disk or a quota is full, also when the index of the write-ahead log is made (SQLITE_IOERR_SHMSIZE), or a large
 * backup (SQLITE_IOERR).
 */
const FULL = [...NOT_WRITTEN, 4_874, 10];

function wordsFor(errcode: number, message: string): string {
  if ((errcode & 0xff) === SQLITE_BUSY) return IN_USE;
  if (FULL.includes(errcode))
    return ` cannot be used, because its disk is full or broken (${message}): free some space, and try again`;
  if (NO_RIGHTS.includes(errcode & 0xff))
    return ` cannot be used (${message}): it has to be a file that this user may read and write, with its -wal and -shm, in a folder where this user may make files`;
  return `: ${message}`;
}

/**
 * A fault of a database: a malformed page, or an index that does not match its table, as SQLite finds them; a schema
 * that is not as this release makes it, or a key of no event. Undefined: no fault. Reads the whole database as of one
 * instant, in a worker thread. Rejects when the database cannot be read.
 */
export async function integrityFault(path: string): Promise<StoreFault | undefined> {
  const worker = new Worker(new URL('./integrity-thread.ts', import.meta.url), { workerData: path });
  try {
    const [found] = await once(worker, 'message');
    return found;
  } finally {
    await worker.terminate();
  }
}
