import { formatHash, parseHash } from './hash.ts';

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
