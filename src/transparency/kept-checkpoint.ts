import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { randomUUID } from '../time/host.ts';
import type { SignedCheckpoint } from './signed-checkpoint.ts';
import { openCheckpoint } from './signed-checkpoint.ts';

/** Keeps the last checkpoint that a log has signed, where a restored database does not bring an older one back. */
export interface KeptCheckpoint {
  /** What was kept, if the key of the vkey has signed it. Undefined: nothing, or another log's. */
  read(vkey: string): Promise<SignedCheckpoint | undefined>;
  /** Keeps a checkpoint in place of the one before. Rejects if it cannot. */
  write(checkpoint: SignedCheckpoint): Promise<void>;
}

/** Name of the file in the data directory. */
export const CHECKPOINT_FILE = 'last-checkpoint.txt';

/** The checkpoint in a file, which only its owner can read. It is replaced as a whole. */
export const keptIn = (path: string): KeptCheckpoint => ({
  read: async (vkey) => {
    const note = await readFile(path, 'utf8').catch(missing);
    return note === undefined ? undefined : opened(note, vkey);
  },
  write: async ({ note }) => {
    // Of its own: instances may share the folder.
    const draft = `${path}.${randomUUID()}`;
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(draft, note, { mode: 0o600, flush: true });
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {});
      throw new Error(`the checkpoint cannot be stored, so it is not signed: ${(error as Error).message}`, {
        cause: error,
      });
    }
  },
});

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

/** A log that got another name or key begins anew. */
function opened(note: string, vkey: string): SignedCheckpoint | undefined {
  try {
    return { ...openCheckpoint(note, vkey), note };
  } catch {
    return undefined;
  }
}
