import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import type { AskedFold } from '../fold/fold.ts';
import type { Check, Failure } from './check.ts';
import { flawOf } from './flaw.ts';

/**
 * Was each event allowed on the state before it? No command adds a plant that exists, deletes one that does not, reuses
 * an idempotency key before it expires, or has a value that the API refuses.
 *
 * Shares the fold with ReadModelCheck, which folds the events up to the read model's checkpoint. This check folds the
 * rest, so ReadModelCheck must finish first.
 */
export class DecisionsCheck implements Check {
  readonly question = 'decisions';
  readonly #store: Store;
  readonly #end: number;
  readonly #fold: AskedFold;
  #flaw: Failure | undefined;

  /** `fold` must have `asksDecisions`. `end` is the last position of the pass. */
  constructor(store: Store, end: number, fold: AskedFold) {
    this.#store = store;
    this.#end = end;
    this.#fold = fold;
  }

  take(events: readonly LoggedEvent[]): undefined {
    this.#flaw ??= firstFlaw(events);
  }

  async finish(): Promise<Failure | undefined> {
    for await (const events of this.#store.read(this.#fold.position, { to: this.#end })) await this.#fold.apply(events);
    const misfit = await this.#fold.misfit();
    return misfit === undefined || isBefore(this.#flaw, misfit) ? this.#flaw : misfit;
  }
}

const isBefore = (flaw: Failure | undefined, misfit: Failure): boolean =>
  flaw !== undefined && flaw.position! <= misfit.position!;

/** The first of these events that no command can produce in any state. */
export function firstFlaw(events: readonly LoggedEvent[]): Failure | undefined {
  for (const event of events) {
    const message = flawOf(event);
    if (message !== undefined) return { position: event.position, message };
  }
  return undefined;
}
