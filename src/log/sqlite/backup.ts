import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { aboutFile, naming, sync } from '../../files.ts';
import type { Head } from '../event/event.ts';
import { existingFile, openReader, prepareQuery, refuseForeignWal } from './connection.ts';
import { isDamage } from './damage.ts';
import { headIn, SELECT_HEAD } from './events.ts';
import { checkSchema } from './schema.ts';
import { DATABASE_FILE } from './store.ts';

/**
 * Copies the store in a data directory, as of one instant, into a new file that only its owner can read. Safe while a
 * service writes. The file gets its name only once the whole copy is on disk. A killed process leaves a draft beside
 * it: the same name with `.draft` at the end. Blocks the event loop. Rejects when there is no store or the file exists.
 */
export async function backUp(directory: string, file: string): Promise<Head> {
  const path = existingFile(directory, DATABASE_FILE);
  refuseForeignWal(path);
  if (existsSync(file)) throw taken(file);
  const draft = `${file}.${randomUUID()}.draft`;
  try {
    return await write(path, draft, file);
  } catch (error) {
    const found = error as NodeJS.ErrnoException;
    if (found.code === 'EEXIST') throw taken(file);
    if (found.path === draft) found.path = file;
    throw found;
  }
}

/** Makes the draft, and gives it the name of the file. An error of SQLite names the file. */
async function write(path: string, draft: string, file: string): Promise<Head> {
  // SQLite treats an empty file as no database, and keeps its mode.
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    copy(path, draft, file);
    await sync(draft);
    const head = naming(file, () => headOf(draft));
    // Unlike a rename, a link never replaces a file.
    linkSync(draft, file);
    await sync(dirname(file));
    return head;
  } finally {
    // SQLite leaves the journal where the disk is full.
    for (const left of [draft, `${draft}-journal`]) rmSync(left, { force: true });
  }
}

const taken = (file: string): Error => new Error(`${file} exists already: a backup overwrites no file`);

/** One read transaction of the source: the copy excludes later appends. */
function copy(path: string, draft: string, file: string): void {
  using db = openReader(path);
  checkSchema(db, path);
  // The copy takes this over. Otherwise pages that VACUUM split keep what they held, and an erasure does not reach it.
  db.exec('PRAGMA secure_delete = ON');
  const vacuum = db.prepare('VACUUM INTO ?');
  try {
    vacuum.run(draft);
  } catch (error) {
    // Damage is the source's, since the copy is new. The rest, such as a full disk, is the copy's.
    throw isDamage(error) ? error : aboutFile(file, error);
  }
}

function headOf(draft: string): Head {
  using db = openReader(draft);
  return headIn(prepareQuery(db, SELECT_HEAD));
}
