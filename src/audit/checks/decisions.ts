import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import type { Fold } from '../fold/fold.ts';
import type { Check, Failure } from './check.ts';
import { flawOf } from './flaw.ts';

/**
 * Was each event allowed on the state before it? No command adds a plant that is there or deletes one that is not, uses an
 * idempotency key again before it has expired, or has a name that the doors refuse.
 *
 * The fold is shared with the question of the read model, which folds the pass as far as the read model stands; the rest is
 * folded here, so that check has to be finished first.
 */
export class DecisionsCheck implements Check {
  readonly question = 'decisions';
  failure: Failure | undefined;
  readonly #store: Store;
  readonly #end: number;
  readonly #fold: Fold;
  #flaw: Failure | undefined;

  /** `fold` has to ask decisions. `end` is the position at which the pass ends. */
  constructor(store: Store, end: number, fold: Fold) {
    this.#store = store;
    this.#end = end;
    this.#fold = fold;
  }

  take(events: readonly LoggedEvent[]): void {
    this.#flaw ??= firstFlaw(events);
  }

  async finish(): Promise<void> {
    for await (const events of this.#store.read(this.#fold.position, { to: this.#end })) await this.#fold.apply(events);
    const misfit = await this.#fold.misfit();
    this.failure = misfit === undefined || isBefore(this.#flaw, misfit) ? this.#flaw : misfit;
  }
}

const isBefore = (flaw: Failure | undefined, misfit: Failure): boolean =>
  flaw !== undefined && flaw.position! <= misfit.position!;

/** The first of these events that no command becomes, whatever went before it. */
export function firstFlaw(events: readonly LoggedEvent[]): Failure | undefined {
  for (const event of events) {
    const message = flawOf(event);
    if (message !== undefined) return { position: event.position, message };
  }
  return undefined;
}
