import { DamagedStoreError } from '../store.ts';

/** A page is malformed (SQLITE_CORRUPT), or the first one is not SQLite's (SQLITE_NOTADB). */
const DAMAGE = [11, 26];

/** Whether SQLite has found its file damaged. */
export function isDamage(error: unknown): error is Error {
  const { errcode } = error as { readonly errcode?: number };
  // An extended code has the code in its low byte.
  return errcode !== undefined && DAMAGE.includes(errcode & 0xff);
}

/** Does the work on a database. Throws DamagedStoreError when the work finds it damaged. */
export function readable<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw isDamage(error) ? new DamagedStoreError(path, error) : error;
  }
}
