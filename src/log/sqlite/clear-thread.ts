// The worker thread of erasures.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { openWriter } from './connection.ts';

/** Milliseconds to wait for writers, and for readers of an older state of the database. */
const BUSY_LIMIT = 10_000;
/** Milliseconds between two attempts to truncate the write-ahead log, which readers keep alive. */
const PAUSE = 100;

const { path, how } = workerData as { readonly path: string; readonly how: 'vacuum' | 'truncate' };
const db = openWriter(path, 'FULL');
try {
  db.exec(`PRAGMA busy_timeout = ${BUSY_LIMIT}`);
  if (how === 'vacuum') db.exec('VACUUM');
  db.exec('PRAGMA busy_timeout = 0');
  const deadline = performance.now() + BUSY_LIMIT;
  while (db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()!.busy !== 0) {
    if (performance.now() > deadline)
      throw new Error('what was erased is still in the write-ahead log, since a long list or a backup reads from it');
    await sleep(PAUSE);
  }
} finally {
  db.close();
}
