import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const SOUND = 'ok';

/**
 * What SQLite finds wrong in a database: a page that is malformed, an index that does not hold exactly what its table holds. Undefined:
 * nothing. It reads all of the database as of one instant, in a thread of its own. Rejects when that cannot be read.
 */
export async function integrityFault(path: string): Promise<string | undefined> {
  const worker = new Worker(new URL('./integrity-thread.ts', import.meta.url), { workerData: path });
  try {
    const [found] = await once(worker, 'message');
    return found === SOUND ? undefined : found;
  } finally {
    await worker.terminate();
  }
}
