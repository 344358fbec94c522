import type { Tree } from '../log/tree/tree.ts';
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from '../tlog/checkpoint.ts';
import { openNote, signNote } from '../tlog/note.ts';
import { treeHash } from '../tlog/tree.ts';
import { verifierOf } from '../tlog/verifier.ts';
import { parseVerifierKey } from '../tlog/verifier-key.ts';
import type { LogKey } from './log-key.ts';

/** A checkpoint, and the note that signs it. */
export interface SignedCheckpoint extends Checkpoint {
  /** The signed note: the checkpoint as it is handed out. */
  readonly note: string;
}

/** The checkpoint of the log's first `size` events. */
export async function signCheckpoint(tree: Tree, size: number, { signer }: LogKey): Promise<SignedCheckpoint> {
  const checkpoint = { origin: signer.name, size, root: await treeHash(size, tree.at(size)) };
  return { ...checkpoint, note: signNote(formatCheckpoint(checkpoint), [signer]) };
}

/** The checkpoint that a note holds, once the key of a vkey has signed it. Throws, with the reason, when it has not. */
export function openCheckpoint(note: string, vkey: string): Checkpoint {
  const key = parseVerifierKey(vkey);
  const checkpoint = parseCheckpoint(openNote(note, [verifierOf(key)]).text);
  if (checkpoint.origin !== key.name) throw new Error(`the checkpoint is of ${checkpoint.origin}, not of ${key.name}`);
  return checkpoint;
}
