import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const SOUND = 'ok';
/** SQLite's line above faults of pages. */
const HEADING = /^\*\*\* in database main \*\*\*\n/;

/**
 * A fault that SQLite finds in a database: a malformed page, or an index that does not match its table. Undefined: no
 * fault. Reads the whole database as of one instant, in a worker thread. Rejects when the database cannot be read.
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
