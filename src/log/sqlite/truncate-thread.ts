// The worker thread of erasures.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { openWriter } from './connection.ts';

/** Milliseconds to wait for readers of an older state of the database. */
const BUSY_LIMIT = 6_000;
/** Milliseconds between two attempts to truncate the write-ahead log, which readers keep alive. */
const PAUSE = 100;

const db = openWriter(workerData as string, 'FULL');

/** Copies the write-ahead log into the database without keeping writers out. Returns whether all of it was copied. */
function copyAside(): boolean {
  const { log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()!;
  return log === checkpointed;
}

/**
 * Truncates the write-ahead log. Writers wait for the little that came since it was copied, and never for a reader.
 * Returns false when readers were in the way all the time.
 */
async function truncate(): Promise<boolean> {
  db.exec('PRAGMA busy_timeout = 0');
  const deadline = performance.now() + BUSY_LIMIT;
  while (!copyAside() || db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()!.busy !== 0) {
    if (performance.now() > deadline) return false;
    await sleep(PAUSE);
  }
  return true;
}

try {
  if (await truncate()) parentPort!.postMessage('truncated');
} finally {
  db.close();
}
