import type { LoggedEvent } from '../../log/event/event.ts';
import { lostCheckpoint, type Snapshot, type Store } from '../../log/store.ts';
import { pause } from '../../time/pause.ts';
import { firstDifference } from '../fold/difference.ts';
import type { AskedFold } from '../fold/fold.ts';
import type { Check, Failure } from './check.ts';

/** Most looks at a read model from which rows are removed, and milliseconds between two of them. */
const LOOKS = 300;
const LOOK = 100;

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
  readonly #fold: AskedFold;

  /**
   * `start` is the checkpoint before the pass. `fold` must be empty; `finish` leaves it at the checkpoint of the
   * compared read model.
   */
  constructor(store: Store, start: number, fold: AskedFold) {
    this.#store = store;
    this.#start = start;
    this.#fold = fold;
  }

  async take(events: readonly LoggedEvent[]): Promise<void> {
    await this.#fold.apply(events.filter(({ position }) => position <= this.#start));
  }

  async finish(): Promise<void> {
    const snapshot = await this.#wholeSnapshot();
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

  /** A snapshot without an erasure that has removed a part of an owner's rows. Waits for the projector to go on. */
  async #wholeSnapshot(): Promise<Snapshot> {
    for (let looks = 1; ; looks++) {
      const snapshot = await this.#store.snapshot();
      const { position, upTo } = snapshot;
      if (position === undefined || upTo <= position || looks === LOOKS) return snapshot;
      await snapshot.close();
      await pause(LOOK);
    }
  }
}
