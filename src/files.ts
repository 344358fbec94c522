import { closeSync, createReadStream, mkdirSync, openSync, statSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { getSystemErrorMessage } from 'node:util';

/** The mode bits of everybody but the owner. */
export const OTHERS = 0o077;

/** The user id of root. */
export const ROOT = 0;

/** What to do about a data directory of root that is open to others. */
export const CLOSED_FOLDER = 'set DATA_DIR to a folder in it, which the service creates and keeps to itself';

/**
 * Makes a folder that only its owner can access, and the parents that are missing. Throws the error of the first step
 * that fails. (Node's own `recursive` never ends where a folder cannot be made in an existing one for ENOENT, as in
 * /proc.)
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makePrivateFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
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

/** Resolves once the names in a folder are on the disk, so that a power cut undoes no rename or link in it. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The text of a file. Rejects with an error that names it; that of the system names no folder in its place. */
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
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : `${path}: ${getSystemErrorMessage(errno)}`;
}

function named(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EISDIR' ? new Error(`${path} is a folder, and not a file`, { cause: error }) : error;
}
