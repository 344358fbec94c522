import type { LoggedEvent } from '../../log/event/event.ts';
import { lostCheckpoint, type Store } from '../../log/store.ts';
import { firstDifference } from '../fold/difference.ts';
import type { OpenFold } from '../fold/fold.ts';
import type { Check, Failure } from './check.ts';

/**
 * Is the read model exactly the fold of the log up to its checkpoint, with nothing missing, extra or different? The
 * pass folds the events up to the checkpoint at its start. Then a snapshot of the read model is compared, after folding
 * what was projected in between. So the service may run, and the snapshot lasts only for the comparison.
 */
export class ReadModelCheck implements Check {
  readonly question = 'read_model';
  failure: Failure | undefined;
  /** Checkpoint of the compared read model; undefined before the comparison. */
  checkpoint: number | undefined;
  readonly #store: Store;
  readonly #start: number;
  readonly #fold: ReturnType<OpenFold>;

  /**
   * `start` is the checkpoint before the pass. `fold` must be empty; `finish` leaves it at the checkpoint of the
   * compared read model.
   */
  constructor(store: Store, start: number, fold: ReturnType<OpenFold>) {
    this.#store = store;
    this.#start = start;
    this.#fold = fold;
  }

  async take(events: readonly LoggedEvent[]): Promise<void> {
    await this.#fold.apply(events.filter(({ position }) => position <= this.#start));
  }

  async finish(): Promise<void> {
    const snapshot = await this.#store.snapshot();
    try {
      if (snapshot.position === undefined) throw lostCheckpoint();
      this.checkpoint = snapshot.position;
      for await (const events of this.#store.read(this.#fold.position, { to: snapshot.position }))
        await this.#fold.apply(events);
      this.failure = await firstDifference(this.#fold.rows(), snapshot.all());
    } finally {
      await snapshot.close();
    }
  }
}
