import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** What SQLite says of a database without a fault. */
export const SOUND = 'ok';
/** SQLite's line above faults of pages. */
const HEADING = /^\*\*\* in database main \*\*\*\n/;

/**
 * A fault of a database: a malformed page, an index that does not match its table, or a trigger or index that is gone.
 * Undefined: no fault. Reads the whole database as of one instant, in a worker thread. Rejects when the database cannot
 * be read.
 */
export async function integrityFault(path: string): Promise<string | undefined> {
  const worker = new Worker(new URL('./integrity-thread.ts', import.meta.url), { workerData: path });
  try {
    const [found] = await once(worker, 'message');
    return found === SOUND ? undefined : found.replace(HEADING, '');
  } finally {
    await worker.terminate();
  }
}
