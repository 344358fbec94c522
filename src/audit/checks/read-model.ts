import type { LoggedEvent } from '../../log/event/event.ts';
import { RowsReplacedError, type Store } from '../../log/store.ts';
import { firstDifference } from '../fold/difference.ts';
import type { Fold } from '../fold/fold.ts';
import type { Check, Failure } from './check.ts';

/** Rebuilds that may end during a comparison before it is given up. */
const MAX_REBUILDS = 3;

/**
 * Is the read model exactly the fold of the log up to its checkpoint: nothing missing, nothing extra, nothing different? The
 * pass folds as far as the checkpoint was when it began. The read model is then read at one instant, and what was projected
 * meanwhile is folded on top, so that it holds while the service runs and the instant need not last for the whole pass.
 */
export class ReadModelCheck implements Check {
  readonly question = 'read_model';
  failure: Failure | undefined;
  /** Where the read model stood when it was compared; undefined before. */
  checkpoint: number | undefined;
  readonly #store: Store;
  readonly #start: number;
  readonly #fold: Fold;

  /** `start` is the checkpoint before the pass. `fold` is empty; after `finish` it stands where the read model stood. */
  constructor(store: Store, start: number, fold: Fold) {
    this.#store = store;
    this.#start = start;
    this.#fold = fold;
  }

  async take(events: readonly LoggedEvent[]): Promise<void> {
    await this.#fold.apply(events.filter(({ position }) => position <= this.#start));
  }

  async finish(): Promise<void> {
    for (let rebuilds = 0; ; rebuilds++) {
      try {
        return await this.#compare();
      } catch (error) {
        // A rebuild ended meanwhile: what took the place of the rows is what has to be right.
        if (!(error instanceof RowsReplacedError) || rebuilds === MAX_REBUILDS) throw error;
      }
    }
  }

  async #compare(): Promise<void> {
    const snapshot = await this.#store.snapshot();
    try {
      this.checkpoint = snapshot.position;
      for await (const events of this.#store.read(this.#fold.position, { to: snapshot.position }))
        await this.#fold.apply(events);
      this.failure = await firstDifference(this.#fold.rows(), snapshot.all());
    } finally {
      await snapshot.close();
    }
  }
}
