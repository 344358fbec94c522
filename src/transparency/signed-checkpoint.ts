import { existsSync, readFileSync, renameSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { tryLock } from '../file-lock.ts';
import { makePrivateFolder, readText, syncFolder, wordsOf } from '../files.ts';
import { CannotSignError } from '../log/unavailable.ts';
import { monotonic, randomUUID } from '../time/host.ts';
import { pause } from '../time/pause.ts';
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from '../tlog/checkpoint.ts';
import { openNote, parseNote, signNote, verifierOf } from '../tlog/note.ts';
import type { TileReader } from '../tlog/tile.ts';
import { treeHash } from '../tlog/tree.ts';
import { keyId, parseVerifierKey } from '../tlog/verifier-key.ts';
import type { LogKey } from './log-key.ts';

/** A checkpoint and its signed note. */
export interface SignedCheckpoint extends Checkpoint {
  /** The signed note of the checkpoint. */
  readonly note: string;
}

/** Signs a checkpoint of the log's first `size` events. */
export async function signCheckpoint(tiles: TileReader, size: number, { signer }: LogKey): Promise<SignedCheckpoint> {
  const root = await treeHash(size, tiles);
  const checkpoint = { origin: signer.name, size, root };
  return { ...checkpoint, note: signNote(formatCheckpoint(checkpoint), [signer]) };
}

/** The checkpoint in a note. Throws, with the reason, unless the key of the vkey has signed it. */
export function openCheckpoint(note: string, vkey: string): Checkpoint {
  const key = parseVerifierKey(vkey);
  const checkpoint = parseCheckpoint(openNote(note, [verifierOf(key)]).text);
  if (checkpoint.origin !== key.name) throw new Error(`the checkpoint is of ${checkpoint.origin}, not of ${key.name}`);
  return checkpoint;
}

/** Keeps the last checkpoint that a log has signed, where a restored database does not bring an older one back. */
export interface KeptCheckpoint {
  /**
   * What was kept, if the key of the vkey has signed it. Undefined: nothing, or another log's. Rejects with
   * CannotSignError if it cannot be read.
   */
  read(vkey: string): Promise<SignedCheckpoint | undefined>;
  /**
   * Keeps the next checkpoint in place of the one that it was found to extend, of an earlier one, or of another log's. If
   * the key of the vkey has signed another one meanwhile, in another process, that stays and is returned: the next one has
   * to extend it, too. Rejects with CannotSignError if it cannot keep it.
   */
  replace(
    next: SignedCheckpoint,
    extended: SignedCheckpoint | undefined,
    vkey: string,
  ): Promise<SignedCheckpoint | undefined>;
}

/** Name of the file in the data directory. */
export const CHECKPOINT_FILE = 'last-checkpoint.txt';

/** Milliseconds between two looks whether another process still keeps a checkpoint, and how long to look. */
const LOOK = 5;
const PATIENCE = 5_000;

/**
 * The checkpoint in a file, which only its owner can read. It is replaced as a whole, and compared in the same step.
 * `onPassedOver` is called with the reason, in words for operators, when what the file has is not read because it is of
 * another log or key.
 */
export const keptIn = (path: string, onPassedOver: (why: string) => void): KeptCheckpoint => ({
  read: async (vkey) => {
    const found = await readKept(path, vkey);
    if (typeof found !== 'string') return found;
    onPassedOver(found);
    return undefined;
  },
  replace: async (next, extended, vkey) => {
    // Of its own: processes may share the folder.
    const draft = `${path}.${randomUUID()}`;
    try {
      makePrivateFolder(dirname(path));
      await writeFile(draft, next.note, { mode: 0o600, flush: true });
      const other = await alone(`${path}.lock`, () => {
        const found = otherThan(extended, path, vkey);
        if (found === undefined) renameSync(draft, path);
        return found;
      });
      if (other === undefined) await syncFolder(dirname(path));
      else await rm(draft);
      return other;
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {});
      throw new CannotSignError(`the checkpoint cannot be stored, so it is not signed: ${wordsOf(path, error)}`, {
        cause: error,
      });
    }
  },
});

/**
 * The checkpoint in a file; why it is not one of the log and key of the vkey, in words for operators; undefined if there
 * is no file. Rejects with CannotSignError if it cannot be read.
 */
export async function readKept(path: string, vkey: string): Promise<SignedCheckpoint | string | undefined> {
  if (!existsSync(path)) return undefined;
  const note = await readText(path).catch((error) => {
    throw new CannotSignError(`the last checkpoint cannot be read: ${wordsOf(path, error)}`, { cause: error });
  });
  try {
    return { ...openCheckpoint(note, vkey), note };
  } catch (error) {
    return `the log is not compared with the last checkpoint that was signed here, in ${path}: ${whyNot(note, vkey, error as Error)}`;
  }
}

/** The checkpoint in a file, if the key of the vkey has signed it, and it is neither `extended` nor an earlier one. */
function otherThan(extended: SignedCheckpoint | undefined, path: string, vkey: string): SignedCheckpoint | undefined {
  if (!existsSync(path)) return undefined;
  const note = readFileSync(path, 'utf8');
  try {
    const found = { ...openCheckpoint(note, vkey), note };
    return note === extended?.note || found.size < (extended?.size ?? 0) ? undefined : found;
  } catch {
    return undefined;
  }
}

/** Does work in one step, while no other process does any with the same lock. */
async function alone<T>(lock: string, work: () => T): Promise<T> {
  const end = monotonic() + PATIENCE;
  for (let unlock = lockOf(lock); ; unlock = lockOf(lock)) {
    if (unlock !== undefined) {
      try {
        return work();
      } finally {
        unlock();
      }
    }
    if (monotonic() > end) throw new Error(`another process, which may be stopped, holds the lock ${lock}`);
    await pause(LOOK);
  }
}

/** The lock of a file, as `tryLock` gives it. An error of SQLite, which never does, then names the file. */
function lockOf(file: string): ReturnType<typeof tryLock> {
  try {
    return tryLock(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw code === 'ERR_SQLITE_ERROR' ? new Error(`${file} cannot be locked: ${message}`, { cause: error }) : error;
  }
}

/** Why a note, which could not be opened for `fault`, is no checkpoint of the log and key of the vkey. */
function whyNot(note: string, vkey: string, fault: Error): string {
  const key = parseVerifierKey(vkey);
  const damaged = `it is damaged (${fault.message})`;
  try {
    const { name, id } = parseNote(note).signatures[0]!;
    if (name !== key.name)
      return `it is of the log ${name}, and this log is ${key.name}; unless you changed that on purpose, check LOG_ORIGIN and which store this is`;
    if (id === keyId(key)) return damaged;
    return 'another key signed it; unless you replaced the key on purpose, set AUDIT_SIGNING_KEY to the one before';
  } catch {
    return damaged;
  }
}
