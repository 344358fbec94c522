import { BrokenChainError, verifyContent } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import type { Check, Failure } from './check.ts';

/** The erased events that name one erasure. */
interface Missing {
  count: number;
  /** Position of the first of them. */
  readonly first: number;
}

/**
 * Counts the events whose content is missing, and holds them against the erasures that took it. Memory grows with the number of
 * erasures, not of events.
 */
export class Erasures {
  readonly #missing = new Map<number, Missing>();
  readonly #erased = new Map<number, number>();

  /** Takes the next events. */
  take(events: readonly LoggedEvent[]): void {
    for (const { position, event, erasedBy } of events) {
      if (event?.type === 'OwnerErased') this.#erased.set(position, event.erased);
      if (erasedBy === undefined) continue;
      const missing = this.#missing.get(erasedBy);
      if (missing === undefined) this.#missing.set(erasedBy, { count: 1, first: position });
      else missing.count++;
    }
  }

  /** The first place where what is missing and what was erased differ. `isExempt`: erasures that nothing is asked about. */
  failure(isExempt: (erasure: number) => boolean = () => false): Failure | undefined {
    const failures: Failure[] = [];
    for (const [erasure, { first }] of this.#missing)
      if (!this.#erased.has(erasure) && !isExempt(erasure))
        failures.push({
          position: first,
          message: `its content is missing, and position ${erasure}, which it names, holds no OwnerErased`,
        });
    for (const [position, erased] of this.#erased) {
      const { count = 0 } = this.#missing.get(position) ?? {};
      if (count !== erased && !isExempt(position))
        failures.push({ position, message: `it erased ${erased} events, and ${count} name it` });
    }
    return failures.toSorted((a, b) => a.position! - b.position!)[0];
  }
}

/**
 * Does what each event says fit what it commits to? And was what is missing erased: does each event without content name an
 * OwnerErased event, and do as many name that as it says?
 *
 * An erasure removes contents while the log passes by. What then seems wrong is counted again once the pass has ended: in the order in
 * which an erasure is begun, does its work and is forgotten, one that is not under way has done all of its work.
 */
export class ContentsCheck implements Check {
  readonly question = 'contents';
  failure: Failure | undefined;
  readonly #store: Store;
  readonly #end: number;
  readonly #erasures = new Erasures();

  /** `end` is the position at which the pass ends. */
  constructor(store: Store, end: number) {
    this.#store = store;
    this.#end = end;
  }

  take(events: readonly LoggedEvent[]): void {
    this.#erasures.take(events);
    this.failure ??= firstMisfit(events);
  }

  async finish(): Promise<void> {
    if (this.#erasures.failure() === undefined) return;
    const underWay = new Set((await this.#store.erasures()).map(({ eventId }) => eventId));
    const again = new Erasures();
    const exempt = new Set<number>();
    for await (const events of this.#store.read(0)) {
      again.take(events);
      for (const { position, type, eventId } of events)
        if (type === 'OwnerErased' && (underWay.has(eventId) || position > this.#end)) exempt.add(position);
    }
    this.failure = again.failure((erasure) => exempt.has(erasure));
  }
}

function firstMisfit(events: readonly LoggedEvent[]): Failure | undefined {
  try {
    for (const event of events) verifyContent(event);
    return undefined;
  } catch (error) {
    if (!(error instanceof BrokenChainError)) throw error;
    return { position: error.position, message: error.why };
  }
}
