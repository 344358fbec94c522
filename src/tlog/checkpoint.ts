import { formatHash, parseHash } from './hash.ts';

/** What a log says of itself: the text of a checkpoint (c2sp.org/tlog-checkpoint, "Note text"). */
export interface Checkpoint {
  /** Names the log. */
  readonly origin: string;
  /** How many records the tree has. */
  readonly size: number;
  /** Root of the tree of that size. */
  readonly root: Uint8Array;
}

const SIZE = /^(0|[1-9]\d*)$/;

/** The text of a checkpoint, without extension lines. */
export const formatCheckpoint = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${formatHash(root)}\n`;

/** The checkpoint that a text holds; extension lines are passed over. Throws when it is none. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n');
  // Each line ends with a line feed, so what follows the last is empty, and nothing else is.
  const isWhole = rest.pop() === '' && rest.every((extension) => extension !== '');
  if (!isWhole || origin === '' || !SIZE.test(size) || !Number.isSafeInteger(Number(size)))
    throw new Error('malformed checkpoint: it begins with the origin, the size and the root, a line each');
  return { origin, size: Number(size), root: parseHash(root) };
}
