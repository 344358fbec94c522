import { closeSync, createReadStream, fsyncSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { getSystemErrorMessage } from 'node:util';

/** The mode bits of everybody but the owner. */
export const OTHERS = 0o077;

/** The user id of root. */
export const ROOT = 0;

/** What to do about a data directory of root that is open to others. */
export const OWN_FOLDER_ADVICE = 'set DATA_DIR to a folder in it, which the service creates and keeps to itself';

/** The files that the service makes in its data directory. */
const OWN_FILES = /^(plantstore\.|(audit|development)-key\.pem|last-checkpoint\.txt)/;

/** Whether a folder has nothing but files of the service, and so is the service's to close. */
export const isOfService = (folder: string): boolean => readdirSync(folder).every((name) => OWN_FILES.test(name));

/**
 * Makes a folder for private files that only its owner can access, and the parents that are missing. Throws the error
 * of the first step that fails, and for root where another user owns the folder: its owner, the service, could not use
 * what root makes there.
 */
export function makePrivateFolder(path: string): void {
  makeFolder(path);
  const { uid } = statSync(path);
  if (process.getuid?.() === ROOT && uid !== ROOT)
    throw new Error(`${path} belongs to user ${uid}, who could not use the files of root: run this as that user`);
}

/** Node's own `recursive` never ends where a folder cannot be made in an existing one for ENOENT, as in /proc. */
function makeFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
    syncAtOnce(parent);
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(path)) throw error;
  }
}

/** The path of a private file in a folder; makes both if missing. SQLite gives files beside it the same mode. */
export function privateFile(directory: string, name: string): string {
  makePrivateFolder(directory);
  const path = join(directory, name);
  try {
    // Only a new file is opened: closing any descriptor of a file drops all POSIX locks of this process on it.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return path;
}

/** Writes a file to the disk; of a folder the names in it, so that a power cut undoes no rename or link there. */
export async function sync(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/** Like `sync`, and nothing else happens in this thread meanwhile. */
export function syncAtOnce(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * The text of a file. Rejects with an error that names it, also where it is a folder: the system's own error does not.
 */
export const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error) => {
    throw named(path, error);
  });

/** The bytes of a file in pieces, up to the offset `end`, inclusive. Rejects as `readText`. */
export async function* readPieces(path: string, end = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { end });
  } catch (error) {
    throw named(path, error);
  }
}

/** What an error says. One of the system names the file, and no draft of it: the same fault has the same words. */
export function wordsOf(path: string, error: unknown): string {
  const { errno = 0, message } = error as NodeJS.ErrnoException;
  // Node's own checks before `rm` have numbers above 0, which no error of the system has.
  return errno < 0 ? `${path}: ${getSystemErrorMessage(errno)}` : message;
}

function named(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EISDIR' ? new Error(`${path} is a folder, and not a file`, { cause: error }) : error;
}

/** SQLite's code for a lock of another connection. */
export const SQLITE_BUSY = 5;

/** A disk or a quota is full: ENOSPC, and other errors of a write (SQLITE_FULL, SQLITE_IOERR_WRITE). */
export const NOT_WRITTEN: readonly number[] = [13, 778];

/** Does the work on a file of SQLite that holds no store. An error of SQLite then names the file. */
export function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw aboutFile(path, error);
  }
}

/** The same error; one of SQLite names the file, and says what to do if that is in use, full, or may not be used. */
export function aboutFile(path: string, error: unknown): unknown {
  const { code, message, errcode = 0 } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  return code === 'ERR_SQLITE_ERROR' ? new Error(`${path}${wordsFor(errcode, message)}`, { cause: error }) : error;
}

/** What is said after the name of a database that another process holds. */
export const IN_USE =
  ' is in use by another program, such as a backup or a shell of sqlite3 (lsof names it): end that, or wait for its end, and try again';

/**
 * A process ended while it changed the journal mode, and only who may write rolls that back (SQLITE_READONLY_ROLLBACK).
 */
const CUT_SHORT = 776;

/** This user may not write to the database (SQLITE_READONLY), or not open it or a file beside it (SQLITE_CANTOPEN). */
const NO_RIGHTS = [8, 14];

/**
 * A disk or a quota is full, also when the index of the write-ahead log is made (SQLITE_IOERR_SHMSIZE), or a large
 * backup (SQLITE_IOERR).
 */
const FULL = [...NOT_WRITTEN, 4_874, 10];

function wordsFor(errcode: number, message: string): string {
  if ((errcode & 0xff) === SQLITE_BUSY) return IN_USE;
  if (FULL.includes(errcode))
    return ` cannot be used, because its disk is full or broken (${message}): free some space, and try again`;
  if (errcode === CUT_SHORT)
    return ' was left by a process that was cut short: start the service once, which repairs it';
  if (NO_RIGHTS.includes(errcode & 0xff))
    return ` cannot be used (${message}): it has to be a file that this user may read and write, with its -wal and -shm, in a folder where this user may make files`;
  return `: ${message}`;
}

/** The locks of this process. An unreachable connection would be garbage-collected together with its lock. */
const held = new Set<DatabaseSync>();

/**
 * Takes the lock of a file, which has no other use and is created if it is missing, until the returned function is
 * called or the process dies. The kernel then drops the lock, so no lock is ever stale. Undefined: another has it.
 */
export function tryLock(file: string): (() => void) | undefined {
  // SQLite's own lock on an empty database: Node has no other lock that the kernel drops.
  const path = privateFile(dirname(file), basename(file));
  const db = naming(path, () => new DatabaseSync(path));
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if ((error as { readonly errcode?: number }).errcode !== SQLITE_BUSY) throw aboutFile(path, error);
    return undefined;
  }
  held.add(db);
  return () => {
    if (held.delete(db)) db.close();
  };
}
