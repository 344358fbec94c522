import type { Kind, Violation } from './judges/violation.ts';
import type { World } from './world.ts';

/** A defect that is known and not mended yet. What it causes is no failure of a history. */
export interface Known {
  readonly what: string;
  readonly kinds: readonly Kind[];
  /** Whether a violation of these kinds is due to it. */
  readonly explains: (violation: Violation, world: World) => boolean;
  /** A seed that shows it. */
  readonly seed: number;
  /** Whether it is too rare to be searched for in each run of the tests, once its seed does not show it any more. */
  readonly isRare?: true;
}

const isErased = ({ owner }: Violation, world: World): boolean => owner !== undefined && world.erased.has(owner);

/** Whether a backup was restored under running instances, which docs/operations.md says not to do. */
const isRestoredUnder = (_: Violation, { restores }: World): boolean => restores.some(({ isRunning }) => isRunning);

/**
 * The defects that are known. Whoever mends one takes it out: a test fails while a defect of this list is not found any
 * more, and a violation that no defect of this list explains fails the run.
 */
export const KNOWN: readonly Known[] = [
  {
    what: 'an instance decides on plants of an owner whom another instance has erased',
    kinds: ['decision', 'outcome'],
    explains: isErased,
    seed: 107,
  },
  {
    what: 'an instance lists plants of an owner whom another instance has erased',
    kinds: ['list', 'get', 'linearizability'],
    explains: isErased,
    seed: 37,
  },
  {
    what: 'a watch never hears of the deletions of an erasure',
    kinds: ['watch'],
    explains: isErased,
    seed: 460,
  },
  {
    what: 'an eraser that lost its lease deletes plants that the owner has added since',
    kinds: ['second life'],
    explains: isErased,
    seed: 2774,
    isRare: true,
  },
  {
    what: 'a rebuild that was frozen during an erasure brings the owner back',
    kinds: ['read model'],
    explains: (violation, world) => isErased(violation, world) && world.rebuilds > 0,
    seed: 565,
    isRare: true,
  },
  {
    what: 'a command is answered with an event that was erased, or rows of a rebuild outlive an erasure',
    kinds: ['remains'],
    explains: isErased,
    seed: 190,
  },
  {
    what: 'an erasure that is asked for while another of the owner ends goes on without a note',
    kinds: ['content'],
    explains: (_, world) => world.erased.size > 0,
    seed: 209,
    isRare: true,
  },
  {
    what: 'an export that was made during an erasure cannot be imported',
    kinds: ['move'],
    explains: ({ owner }) => owner !== undefined,
    seed: 22,
  },
  {
    what: 'an instance that has not noticed a restore yet advances the read model over events that are lost',
    kinds: ['read model'],
    explains: isRestoredUnder,
    seed: 35,
    isRare: true,
  },
  {
    what: 'an instance that has not noticed a restore yet appends behind a gap',
    kinds: ['order'],
    explains: isRestoredUnder,
    seed: 623,
    isRare: true,
  },
  {
    what: 'an instance reads rows that a restore under it has set back, while others advance them again',
    kinds: ['outcome', 'decision', 'list', 'get', 'watch', 'linearizability'],
    explains: isRestoredUnder,
    seed: 1039,
    isRare: true,
  },
];

/** The known defect that explains a violation. Undefined: it is news. */
export const knownDefect = (violation: Violation, world: World): Known | undefined =>
  KNOWN.find(({ kinds, explains }) => kinds.includes(violation.kind) && explains(violation, world));
