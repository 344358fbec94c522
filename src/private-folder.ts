import { mkdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

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

/** Resolves once the names in a folder are on the disk, so that a power cut undoes no rename or link in it. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
