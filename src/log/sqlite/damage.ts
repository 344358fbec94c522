import { DamagedStoreError } from '../store.ts';

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

/** The same error; one of SQLite names the file. */
export function aboutFile(path: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_SQLITE_ERROR' ? new Error(`${path}: ${message}`, { cause: error }) : error;
}
