import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { aboutFile } from '../../files.ts';
import { DamagedStoreError, type Fault } from '../store.ts';

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

/**
 * A fault of a database: a malformed page, or an index that does not match its table, as SQLite finds them; a schema
 * that is not as this release makes it, or a key of no event. Undefined: no fault. Reads the whole database as of one
 * instant, in a worker thread. Rejects when the database cannot be read.
 */
export async function integrityFault(path: string): Promise<Fault | undefined> {
  const worker = new Worker(new URL(`./integrity-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: path,
  });
  try {
    const [found] = await once(worker, 'message');
    return found;
  } finally {
    await worker.terminate();
  }
}
