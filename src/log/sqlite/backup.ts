import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Head } from '../event/event.ts';
import { existingFile, openReader, prepareQuery, refuseForeignWal } from './connection.ts';
import { aboutFile, isDamage, naming } from './damage.ts';
import { headIn } from './events.ts';
import { checkSchema } from './schema.ts';
import { SELECT_HEAD } from './statements.ts';
import { DATABASE_FILE } from './store.ts';

/**
 * Copies the store in a data directory, as of one instant, into a new file that only its owner can read. Safe while a
 * service writes. The file gets its name only once the whole copy is on disk. A killed process leaves a draft beside
 * it: the same name with `.draft` at the end. Blocks the event loop. Throws when there is no store or the file exists.
 */
export function backUp(directory: string, file: string): Head {
  const path = existingFile(directory, DATABASE_FILE);
  refuseForeignWal(path);
  if (existsSync(file)) throw taken(file);
  const draft = `${file}.${randomUUID()}.draft`;
  // SQLite treats an empty file as no database, and keeps its mode.
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    copy(path, draft);
    sync(draft);
    const head = naming(draft, () => headOf(draft));
    // Unlike a rename, a link never replaces a file.
    linkSync(draft, file);
    sync(dirname(file));
    return head;
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? taken(file) : error;
  } finally {
    rmSync(draft, { force: true });
  }
}

const taken = (file: string): Error => new Error(`${file} exists already: a backup overwrites no file`);

/** One read transaction of the source: the copy excludes later appends. */
function copy(path: string, draft: string): void {
  const db = openReader(path);
  try {
    checkSchema(db, path);
    // The copy takes this over. Otherwise pages that VACUUM split keep what they held, and an erasure does not reach it.
    db.exec('PRAGMA secure_delete = ON');
    const vacuum = db.prepare('VACUUM INTO ?');
    try {
      vacuum.run(draft);
    } catch (error) {
      // Damage is the source's, since the copy is new. The rest, such as a full disk, is the copy's.
      throw isDamage(error) ? error : aboutFile(draft, error);
    }
  } finally {
    db.close();
  }
}

/** The head of the copy, read from the copy. */
function headOf(draft: string): Head {
  const db = openReader(draft);
  try {
    return headIn(prepareQuery(db, SELECT_HEAD));
  } finally {
    db.close();
  }
}

/** Writes a file or a folder to the disk. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
