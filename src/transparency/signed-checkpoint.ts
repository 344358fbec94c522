import { type Checkpoint, formatCheckpoint, parseCheckpoint } from '../tlog/checkpoint.ts';
import { openNote, signNote, verifierOf } from '../tlog/note.ts';
import { TileHashReader, type TileReader } from '../tlog/tile.ts';
import { treeHash } from '../tlog/tree.ts';
import { parseVerifierKey } from '../tlog/verifier-key.ts';
import type { LogKey } from './log-key.ts';

/** A checkpoint and its signed note. */
export interface SignedCheckpoint extends Checkpoint {
  /** The signed note of the checkpoint. */
  readonly note: string;
}

/** Signs a checkpoint of the log's first `size` events. */
export async function signCheckpoint(tiles: TileReader, size: number, { signer }: LogKey): Promise<SignedCheckpoint> {
  const root = await treeHash(size, new TileHashReader(size, tiles));
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
