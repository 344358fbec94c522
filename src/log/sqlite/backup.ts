import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EMPTY_HEAD, type Head } from '../event/event.ts';
import { openReader } from './connection.ts';
import { prepareQuery } from './read-model/rows.ts';
import { checkSchema } from './schema.ts';
import { SELECT_HEAD } from './statements.ts';
import { DATABASE_FILE } from './store.ts';

/**
 * Copies the store in a data directory, as it is at one instant, into a file that is not there yet, readable by its owner alone.
 * Safe while a service writes. Nothing has the file's name until all of the copy is on disk; a process that dies leaves a draft
 * beside it, named like it with `.draft` at its end. Holds up the event loop. Throws when there is no store, or when there is such a file.
 */
export function backUp(directory: string, file: string): Head {
  const path = join(directory, DATABASE_FILE);
  if (!existsSync(path)) throw new Error(`there is no plant store in ${directory}`);
  if (existsSync(file)) throw taken(file);
  const draft = `${file}.${randomUUID()}.draft`;
  // SQLite takes an empty file for none, and leaves its mode as it is.
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    copy(path, draft);
    sync(draft);
    const head = headOf(draft);
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

const taken = (file: string): Error => new Error(`${file} is there already: a backup replaces nothing`);

/** One read transaction of the source: what is appended meanwhile is not in the copy. */
function copy(path: string, draft: string): void {
  const db = openReader(path);
  try {
    checkSchema(db, path);
    db.prepare('VACUUM INTO ?').run(draft);
  } finally {
    db.close();
  }
}

/** What the copy holds, read from the copy. */
function headOf(draft: string): Head {
  const db = openReader(draft);
  try {
    const row = prepareQuery(db, SELECT_HEAD).get() as unknown as [bigint, Uint8Array, bigint] | undefined;
    return row === undefined ? EMPTY_HEAD : { position: Number(row[0]), hash: row[1], time: Number(row[2]) };
  } finally {
    db.close();
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
