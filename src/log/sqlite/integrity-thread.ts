// The worker thread of integrity.ts.
import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from './connection.ts';
import { isDamage } from './damage.ts';
import { SOUND } from './integrity.ts';
import { missingObjects } from './schema.ts';

const db = openReader(workerData as string);
parentPort!.postMessage(found());
db.close();

function found(): string {
  try {
    const [first] = db.prepare('PRAGMA integrity_check(1)').all();
    const found = String(first!.integrity_check);
    const missing = missingObjects(db);
    return found === SOUND && missing.length > 0 ? `it lacks ${missing.join(', ')}, which somebody dropped` : found;
  } catch (error) {
    // Damage of the schema leaves nothing to check.
    if (isDamage(error)) return error.message;
    throw error;
  }
}
