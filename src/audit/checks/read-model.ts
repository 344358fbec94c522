import { BrokenReadModelError, lostCheckpoint, SnapshotEndedError, type Store } from '../../log/store.ts';
import { eventAt } from '../../log/whole-range.ts';
import { firstDifference } from '../fold/difference.ts';
import type { Fold } from '../fold/fold.ts';
import type { Check, Failure } from './check.ts';

/** Most snapshots that are taken because an erasure is completed meanwhile, or because the store ends them. */
const MAX_ATTEMPTS = 10;
const TAKEN_AGAIN = [BrokenReadModelError, SnapshotEndedError];

/**
 * Is the read model exactly the fold of the log up to its checkpoint, with nothing missing, extra or different? The
 * pass folds the events up to the checkpoint at its start. Then a snapshot of the read model is compared, after folding
 * what was projected in between. So the service may run, and the snapshot lasts only for the comparison. Rows of an
 * owner who is erased next may be missing.
 *
 * `start` is the checkpoint before the pass. `fold` must be empty; `finish` leaves it at the checkpoint of the compared
 * read model, with which it calls back before it compares.
 */
export function readModelCheck(
  store: Store,
  start: number,
  fold: Fold,
  onCompared: (checkpoint: number) => void,
): Check {
  return {
    question: 'read_model',
    async take(events) {
      await fold.apply(events.filter(({ position }) => position <= start));
      return undefined;
    },
    async finish(signal) {
      for (let attempt = 1; ; attempt++)
        try {
          return await compared(store, fold, onCompared, signal);
        } catch (error) {
          if (!TAKEN_AGAIN.some((kind) => error instanceof kind) || attempt === MAX_ATTEMPTS) throw error;
        }
    },
  };
}

async function compared(
  store: Store,
  fold: Fold,
  onCompared: (checkpoint: number) => void,
  signal: AbortSignal | undefined,
): Promise<Failure | undefined> {
  await store.waitBeforeLongRead();
  const snapshot = await store.snapshot();
  try {
    const { position, upTo } = snapshot;
    if (position === undefined) throw lostCheckpoint();
    const leaving = upTo === position ? undefined : await leavingFrom(store, position, upTo);
    onCompared(position);
    for await (const events of store.read(fold.position, { to: position, signal })) await fold.apply(events);
    return await firstDifference(fold, snapshot.all(), leaving, signal);
  } finally {
    await snapshot.close();
  }
}

/** The owner whose rows an erasure is removing, unless it was completed meanwhile. */
async function leavingFrom(store: Store, position: number, upTo: number): Promise<string> {
  const leaving = upTo === position + 1 ? (await eventAt(store, upTo))?.erases?.owner : undefined;
  if (leaving !== undefined) return leaving;
  throw new BrokenReadModelError(
    `the checkpoint at position ${position} says that an erasure at ${upTo} removes rows, and there is none`,
  );
}
