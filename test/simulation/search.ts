import { type Outcome, runHistory } from './history.ts';
import { planOf } from './plan-of.ts';

/** What came of many histories. */
export interface Found {
  histories: number;
  /** Tasks that were done in all of them. */
  tasks: number;
  /** The first history with a violation. */
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
  const found: Found = { histories: 0, tasks: 0, failed: undefined };
  for (let next = seed; performance.now() < end && next < seed + most && found.failed === undefined; next++) {
    const outcome = await historyOf(next, named);
    found.histories++;
    found.tasks += outcome.world.scheduler.done;
    if (outcome.violation !== undefined) found.failed = outcome;
  }
  return found;
}

async function historyOf(seed: number, named: readonly string[]): Promise<Outcome> {
  try {
    return await runHistory(seed, planOf(seed, named));
  } catch (error) {
    throw new Error(`seed ${seed}`, { cause: error });
  }
}
