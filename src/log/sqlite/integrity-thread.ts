// The worker thread of damage.ts.
import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from './connection.ts';
import { isDamage, SOUND } from './damage.ts';
import { misfit } from './schema.ts';

const db = openReader(workerData as string);
parentPort!.postMessage(found());
db.close();

function found(): string {
  try {
    // As of one instant.
    db.exec('BEGIN');
    const [first] = db.prepare('PRAGMA integrity_check(1)').all();
    const fault = String(first!.integrity_check);
    return fault === SOUND ? (misfit(db) ?? SOUND) : fault;
  } catch (error) {
    // Damage of the schema leaves nothing to check.
    if (isDamage(error)) return error.message;
    throw error;
  }
}
