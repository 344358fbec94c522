import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { counted } from '../domain/counted.ts';
import { readText, sync, tryLock, wordsOf } from '../files.ts';
import { CannotSignError } from '../log/unavailable.ts';
import { monotonic } from '../time/host.ts';
import { pause } from '../time/pause.ts';
import { type Checkpoint, formatCheckpoint, openCheckpoint, readCheckpoint } from '../tlog/checkpoint.ts';
import { parseNote, type Signature, type Signer, signNote } from '../tlog/note.ts';
import type { TileReader } from '../tlog/tile.ts';
import { treeHash } from '../tlog/tree.ts';
import { formatKeyId, keyId, type VerifierKey } from '../tlog/verifier-key.ts';

/** What to do about a log that is not the one that was signed or cosigned. */
export const RESTORED =
  'if an older backup was restored, follow "After a restore that was signed or witnessed beyond" in docs/operations.md';

/** A checkpoint and its signed note. */
export interface SignedCheckpoint extends Checkpoint {
  /** The signed note of the checkpoint. */
  readonly note: string;
}

/** Signs a checkpoint of the log's first `size` events. */
export async function signCheckpoint(tiles: TileReader, size: number, signer: Signer): Promise<SignedCheckpoint> {
  const root = await treeHash(size, tiles);
  const checkpoint = { origin: signer.key.name, size, root };
  return { ...checkpoint, note: signNote(formatCheckpoint(checkpoint), [signer]) };
}

/** Keeps the last checkpoint that a log has signed, where a restored database does not bring an older one back. */
export interface KeptCheckpoint {
  /** What was kept, if the key has signed it. Rejects with CannotSignError if it cannot be read. */
  read(key: VerifierKey): Promise<SignedCheckpoint | undefined>;
  /**
   * Keeps the next checkpoint in place of the one that it was found to extend, or of an earlier one. That of another
   * log or key is kept beside it. If the key has signed another one meanwhile, in another process, that
   * stays and is returned: the next one has to extend it, too. Rejects with CannotSignError if it cannot keep it.
   */
  replace(
    next: SignedCheckpoint,
    extended: SignedCheckpoint | undefined,
    key: VerifierKey,
  ): Promise<SignedCheckpoint | undefined>;
}

/** Name of the file in the data directory. */
export const CHECKPOINT_FILE = 'last-checkpoint.txt';

/**
 * Why a log that ends at a position is not the one that was signed in a data directory: it has no events. Undefined:
 * it has some, or nothing was signed there. What comes after needs a comparison, and not every restored log passes it.
 */
export async function whyNotTheSignedLog(
  dataDirectory: string,
  store: string,
  position: number,
): Promise<string | undefined> {
  if (position > 0) return undefined;
  const path = join(dataDirectory, CHECKPOINT_FILE);
  // One that cannot be read is told by whoever signs.
  const signed = await readText(path)
    .then(readCheckpoint)
    .catch(() => undefined);
  if (!signed || signed.size === 0) return undefined;
  return `${store} has no events, but a checkpoint of ${counted(signed.size, 'event')} of the log ${signed.origin} was signed here: correct MONGODB_URI or DATA_DIR, or restore that log; if you mean to begin a new one, move ${path} away`;
}

/** Milliseconds between two attempts to get the lock of another process, and those after which to give up. */
const POLL_INTERVAL = 5;
const LOCK_LIMIT = 5_000;

/**
 * The checkpoint in a file, which only its owner can read. It is replaced as a whole, and compared in the same step.
 * One of another log or key moves to a file of its own (`besideOf`), where its key finds it again. `onPassedOver` is
 * called with the reason, in words for operators, when what the file has is not read: once, although each attempt to
 * sign reads it until one succeeds.
 */
export function keptIn(path: string, onPassedOver: (why: string) => void): KeptCheckpoint {
  let told: string | undefined;
  return {
    read: async (key) => {
      const { own, passedOver } = await readKept(path, key);
      if (passedOver !== undefined && passedOver !== told) onPassedOver(passedOver);
      told = passedOver;
      return own;
    },
    replace: async (next, extended, key) => {
      const draft = `${path}.draft`;
      try {
        const other = await alone(`${path}.lock`, async () => {
          const { own } = await readKept(path, key);
          if (own !== undefined && own.note !== extended?.note && own.size >= (extended?.size ?? 0)) return own;
          // That of a process that was killed, which may have been another user's.
          await rm(draft, { force: true });
          await writeFile(draft, next.note, { mode: 0o600, flush: true });
          await setAside(path, key);
          await rename(draft, path);
          // The same log's earlier one, if another has signed in between.
          await rm(besideOf(path, keyId(key)), { force: true });
          return undefined;
        });
        if (other === undefined) await sync(dirname(path));
        return other;
      } catch (error) {
        throw new CannotSignError(`the checkpoint cannot be stored, so it is not signed: ${wordsOf(path, error)}`, {
          cause: error,
        });
      }
    },
  };
}

interface Kept {
  /** The checkpoint of the log and its key, in the file or beside it. Undefined: there is none. */
  readonly own: SignedCheckpoint | undefined;
  /** Why the file has another one, in words for operators. Undefined: it has this one, or none. */
  readonly passedOver: string | undefined;
}

/** What is kept for a log and its key in a file and beside it. Rejects with CannotSignError if one cannot be read. */
async function readKept(path: string, key: VerifierKey): Promise<Kept> {
  const last = opened(await noteIn(path), key);
  if (typeof last === 'object') return { own: last, passedOver: undefined };
  const beside = opened(await noteIn(besideOf(path, keyId(key))), key);
  return {
    own: typeof beside === 'object' ? beside : undefined,
    passedOver: last && `the log is not compared with the last checkpoint that was signed here, in ${path}: ${last}`,
  };
}

/** The text of a file. Undefined: there is none. */
async function noteIn(path: string): Promise<string | undefined> {
  if (!existsSync(path)) return undefined;
  return readText(path).catch((error) => {
    throw new CannotSignError(`the last checkpoint cannot be read: ${wordsOf(path, error)}`, { cause: error });
  });
}

/** The checkpoint in a note; why the note is none of this log and key; undefined without a note. */
function opened(note: string | undefined, key: VerifierKey): SignedCheckpoint | string | undefined {
  if (note === undefined) return undefined;
  try {
    return { ...openCheckpoint(note, key), note };
  } catch (error) {
    return whyNot(note, key, error as Error);
  }
}

/** Where the checkpoint of the key with this id is kept while the file has that of another. */
const besideOf = (path: string, id: number): string => `${path}.${formatKeyId(id)}`;

/** Moves a checkpoint in the file beside it, unless it is of this log and key, or no note. */
async function setAside(path: string, key: VerifierKey): Promise<void> {
  const id = signerOf((await noteIn(path)) ?? '')?.id;
  if (id !== undefined && id !== keyId(key)) await rename(path, besideOf(path, id));
}

/** Does work in one step, while no other process does any with the same lock. */
async function alone<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const end = monotonic() + LOCK_LIMIT;
  for (let unlock = tryLock(lock); ; unlock = tryLock(lock)) {
    if (unlock !== undefined) {
      try {
        return await work();
      } finally {
        unlock();
      }
    }
    if (monotonic() > end) throw new Error(`another process, which may be stopped, holds the lock ${lock}`);
    await pause(POLL_INTERVAL);
  }
}

/** Why a note, which could not be opened for `fault`, is no checkpoint of this log and key. */
function whyNot(note: string, key: VerifierKey, fault: Error): string {
  const signer = signerOf(note);
  if (signer === undefined || (signer.name === key.name && signer.id === keyId(key)))
    return `it is damaged (${fault.message})`;
  if (signer.name !== key.name)
    return `it is of the log ${signer.name}, and this log is ${key.name}; unless you changed that on purpose, check LOG_ORIGIN and which store this is`;
  return 'another key signed it; unless you replaced the key on purpose, set AUDIT_SIGNING_KEY to the one before';
}

/** Who says to have signed a note. Undefined: it is no note. */
function signerOf(note: string): Signature | undefined {
  try {
    return parseNote(note).signatures[0];
  } catch {
    return undefined;
  }
}
