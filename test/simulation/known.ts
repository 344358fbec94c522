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

/** Whether a backup was restored under running instances, which docs/operations.md says not to do. */
const isRestoredUnder = (_: Violation, { restores }: World): boolean => restores.some(({ isRunning }) => isRunning);

/**
 * The defects that are known. Whoever mends one takes it out: a test fails while a defect of this list is not found any
 * more, and a violation that no defect of this list explains fails the run.
 */
export const KNOWN: readonly Known[] = [
  {
    what: 'an instance that has not noticed a restore yet advances the read model over events that are lost',
    kinds: ['read model'],
    explains: isRestoredUnder,
    seed: 5,
    isRare: true,
  },
  {
    what: 'an instance that has not noticed a restore yet appends behind a gap',
    kinds: ['order'],
    explains: isRestoredUnder,
    seed: 1451,
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
