// The worker thread of damage.ts.
import { parentPort, workerData } from 'node:worker_threads';
import type { Fault } from '../store.ts';
import { openReader } from './connection.ts';
import { isDamage } from './damage.ts';
import { misfit } from './schema.ts';

/** What SQLite says of a database without a fault, and its line above faults of pages. */
const SOUND = 'ok';
const HEADING = /^\*\*\* in database main \*\*\*\n/;

const db = openReader(workerData as string);
parentPort!.postMessage(found());
db.close();

function found(): Fault | undefined {
  try {
    // As of one instant.
    db.exec('BEGIN');
    const [first] = db.prepare('PRAGMA integrity_check(1)').all();
    const said = String(first!.integrity_check);
    return said === SOUND ? misfit(db) : { message: said.replace(HEADING, '') };
  } catch (error) {
    // Damage of the schema leaves nothing to check.
    if (isDamage(error)) return { message: error.message };
    throw error;
  }
}
