// The worker thread of damage.ts.
import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from './connection.ts';
import { isDamage } from './damage.ts';

const db = openReader(workerData as string);
parentPort!.postMessage(found());
db.close();

function found(): string {
  try {
    const [first] = db.prepare('PRAGMA integrity_check(1)').all();
    return String(first!.integrity_check);
  } catch (error) {
    // Damage of the schema leaves nothing to check.
    if (isDamage(error)) return error.message;
    throw error;
  }
}
