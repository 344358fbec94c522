import type { LoggedEvent } from '../../log/event/event.ts';
import { lostCheckpoint, type Snapshot, type Store } from '../../log/store.ts';
import { eventAt } from '../../log/whole-range.ts';
import { firstDifference } from '../fold/difference.ts';
import type { Fold } from '../fold/fold.ts';
import type { Check, Failure } from './check.ts';

/** Most snapshots that are taken because an erasure is completed meanwhile. */
const ATTEMPTS = 10;

/**
 * Is the read model exactly the fold of the log up to its checkpoint, with nothing missing, extra or different? The
 * pass folds the events up to the checkpoint at its start. Then a snapshot of the read model is compared, after folding
 * what was projected in between. So the service may run, and the snapshot lasts only for the comparison. Rows of an owner
 * who is erased next may be missing.
 */
export class ReadModelCheck implements Check {
  readonly question = 'read_model';
  /** Checkpoint of the compared read model; undefined before the comparison. */
  checkpoint: number | undefined;
  readonly #store: Store;
  readonly #start: number;
  readonly #fold: Fold;

  /**
   * `start` is the checkpoint before the pass. `fold` must be empty; `finish` leaves it at the checkpoint of the
   * compared read model.
   */
  constructor(store: Store, start: number, fold: Fold) {
    this.#store = store;
    this.#start = start;
    this.#fold = fold;
  }

  async take(events: readonly LoggedEvent[]): Promise<undefined> {
    await this.#fold.apply(events.filter(({ position }) => position <= this.#start));
  }

  async finish(): Promise<Failure | undefined> {
    const { snapshot, leaving } = await this.#snapshot();
    try {
      const { position } = snapshot;
      if (position === undefined) throw lostCheckpoint();
      this.checkpoint = position;
      for await (const events of this.#store.read(this.#fold.position, { to: position }))
        await this.#fold.apply(events);
      return await firstDifference(this.#fold.rows(), snapshot.all(), leaving);
    } finally {
      await snapshot.close();
    }
  }

  /** A snapshot, and the owner whose rows are being removed in it. */
  async #snapshot(): Promise<{ readonly snapshot: Snapshot; readonly leaving: string | undefined }> {
    for (let attempt = 1; ; attempt++) {
      const snapshot = await this.#store.snapshot();
      const { position, upTo } = snapshot;
      if (position === undefined || upTo <= position) return { snapshot, leaving: undefined };
      const leaving = (await eventAt(this.#store, upTo))?.erases?.owner;
      // If nobody is, the erasure was completed meanwhile, or the checkpoint was edited.
      if (leaving !== undefined || attempt === ATTEMPTS) return { snapshot, leaving };
      await snapshot.close();
    }
  }
}
