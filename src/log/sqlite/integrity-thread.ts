// The worker thread of integrity.ts.
import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from './connection.ts';

const db = openReader(workerData as string);
const [first] = db.prepare('PRAGMA integrity_check(1)').all();
db.close();
parentPort!.postMessage(String(first!.integrity_check));
