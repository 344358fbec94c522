import { formatHash, parseHash } from './hash.ts';
import { openNote, parseNote, type UnverifiedNote } from './note.ts';
import type { VerifierKey } from './verifier-key.ts';

/** A checkpoint: a log's statement of its size and root (c2sp.org/tlog-checkpoint, "Note text"). */
export interface Checkpoint {
  /** Name of the log. */
  readonly origin: string;
  /** Number of records in the tree. */
  readonly size: number;
  /** Root hash of the tree of that size. */
  readonly root: Uint8Array;
}

const SIZE = /^(0|[1-9]\d*)$/;

/** The text of a checkpoint, without extension lines. */
export const formatCheckpoint = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${formatHash(root)}\n`;

/** Parses the text of a checkpoint and ignores extension lines. Throws if it is malformed. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n');
  // Each line ends with a line feed, so exactly the last element is empty.
  const isWhole = rest.pop() === '' && rest.every((extension) => extension !== '');
  if (!isWhole || origin === '' || !SIZE.test(size) || !Number.isSafeInteger(Number(size)))
    throw new Error('malformed checkpoint: its first three lines must be origin, size and root');
  return { origin, size: Number(size), root: parseHash(root) };
}

/** A checkpoint, and the note that its log and witnesses have signed. */
export interface NotedCheckpoint extends Checkpoint {
  readonly note: UnverifiedNote;
}

/** The checkpoint in a signed note, not verified. Throws, with the reason, if there is none. */
export function readCheckpoint(text: string): NotedCheckpoint {
  const note = parseNote(text);
  return { ...parseCheckpoint(note.text), note };
}

/** The checkpoint in a signed note. Throws, with the reason, unless the key of its log has signed it. */
export function openCheckpoint(text: string, key: VerifierKey): NotedCheckpoint {
  const note = openNote(text, [key]);
  const checkpoint = { ...parseCheckpoint(note.text), note };
  if (checkpoint.origin !== key.name) throw new Error(`the checkpoint is of ${checkpoint.origin}, not of ${key.name}`);
  return checkpoint;
}
