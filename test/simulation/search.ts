import { Undecided } from '../support/linearizability.ts';
import { type Outcome, runHistory } from './history.ts';
import { KNOWN, type Known, knownDefect } from './known.ts';
import { planOf } from './plan-of.ts';

/** What came of many histories. */
export interface Found {
  histories: number;
  /** Tasks that were done in all of them. */
  tasks: number;
  /** For each known defect that was met, how often, and the first seed. */
  readonly known: Map<Known, { count: number; readonly seed: number }>;
  /** Histories of which linearizability could not be decided. */
  undecided: number;
  /** The first history with a violation that no known defect explains. */
  failed: Outcome | undefined;
}

/**
 * Does the histories of one seed after the other until the time is over, there were enough, or one fails. Each has the
 * named actions or faults, besides others.
 */
export async function search(
  seed: number,
  milliseconds: number,
  most = Number.POSITIVE_INFINITY,
  named: readonly string[] = [],
): Promise<Found> {
  const end = performance.now() + milliseconds;
  const found: Found = { histories: 0, tasks: 0, known: new Map(), undecided: 0, failed: undefined };
  for (let next = seed; performance.now() < end && next < seed + most && found.failed === undefined; next++) {
    const outcome = await decided(next, named);
    found.histories++;
    if (outcome === undefined) {
      found.undecided++;
      continue;
    }
    found.tasks += outcome.world.scheduler.done;
    if (outcome.violation === undefined) continue;
    const known = knownDefect(outcome.violation, outcome.world);
    if (known === undefined) found.failed = outcome;
    else
      found.known.set(known, {
        seed: next,
        ...found.known.get(known),
        count: (found.known.get(known)?.count ?? 0) + 1,
      });
  }
  return found;
}

async function decided(seed: number, named: readonly string[]): Promise<Outcome | undefined> {
  try {
    return await runHistory(seed, planOf(seed, named));
  } catch (error) {
    if (error instanceof Undecided) return undefined;
    throw new Error(`seed ${seed}`, { cause: error });
  }
}

/** Every known defect, and how often it was met. */
export const knownText = ({ known }: Found): string =>
  KNOWN.map((each) => {
    const { count = 0, seed } = known.get(each) ?? {};
    return `${String(count).padStart(6)}  ${each.what}${seed === undefined ? '' : ` (first: ${seed})`}`;
  }).join('\n');
