import type { Kind, Violation } from './judges/violation.ts';
import type { World } from './world.ts';

/** A defect that is known and not mended yet. What it causes is no failure of a history. */
export interface Known {
  readonly what: string;
  readonly kinds: readonly Kind[];
  /** Whether a violation of these kinds is due to it. */
  readonly explains: (violation: Violation, world: World) => boolean;
  /** A seed that shows it. Undefined: it is too rare to be searched for in each run of the tests. */
  readonly seed?: number;
}

const isErased = ({ owner }: Violation, world: World): boolean => owner !== undefined && world.erased.has(owner);

/**
 * The defects that are known. Whoever mends one takes it out: a test fails while a defect of this list is not found any
 * more, and a violation that no defect of this list explains fails the run.
 */
export const KNOWN: readonly Known[] = [
  {
    what: 'an instance decides on plants of an owner whom another instance has erased',
    kinds: ['decision', 'outcome'],
    explains: isErased,
    seed: 81,
  },
  {
    what: 'an instance lists plants of an owner whom another instance has erased',
    kinds: ['list', 'get'],
    explains: isErased,
    seed: 115,
  },
  {
    what: 'a watch never hears of the deletions of an erasure',
    kinds: ['watch'],
    explains: isErased,
    seed: 211,
  },
  {
    what: 'an eraser that lost its lease deletes plants that the owner has added since',
    kinds: ['second life'],
    explains: isErased,
    seed: 5494,
  },
  {
    what: 'a command is answered with an event that was erased',
    kinds: ['remains'],
    explains: isErased,
    seed: 98,
  },
  {
    what: 'an erasure that is asked for while another of the owner ends goes on without a note',
    kinds: ['content'],
    explains: (_, world) => world.erased.size > 0,
  },
  {
    what: 'an export that was made during an erasure cannot be imported',
    kinds: ['move'],
    explains: ({ owner }) => owner !== undefined,
    seed: 1,
  },
];

/** The known defect that explains a violation. Undefined: it is news. */
export const knownDefect = (violation: Violation, world: World): Known | undefined =>
  KNOWN.find(({ kinds, explains }) => kinds.includes(violation.kind) && explains(violation, world));
