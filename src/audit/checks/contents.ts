import { counted } from '../../domain/counted.ts';
import { verifyContent } from '../../log/event/chain.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Store } from '../../log/store.ts';
import type { Check, Failure } from './check.ts';

/** What is wrong with an event without content that refers to this position of a log that ends at `end`. */
export const refersToNoErasure = (position: number, end: number = position): string =>
  position > end
    ? `its content is missing, and position ${position}, to which it refers, is beyond the last event, at ${end}: the end was cut off`
    : `its content is missing, but position ${position}, to which it refers, is not an OwnerErased event`;

/** Compares how many events lack their content with what the OwnerErased events say. Memory grows with those alone. */
export class Erasures {
  /** How many events each erasure erased, and the position of the first. */
  readonly #missing = new Map<number, { count: number; readonly first: number }>();
  readonly #erased = new Map<number, number>();
  /** Positions of erasures that had not said that all contents are removed when they were read. */
  readonly #underWay = new Set<number>();
  #end = 0;

  take(events: readonly LoggedEvent[]): void {
    for (const { position, event, erasedBy, erases } of events) {
      this.#end = position;
      if (erases?.isCleared === false) this.#underWay.add(position);
      if (event?.type === 'OwnerErased') this.#erased.set(position, event.erased);
      // It has its content: decode.ts refuses an event that has neither content nor `erasedBy`.
      if (erasedBy === undefined) continue;
      const missing = this.#missing.get(erasedBy);
      if (missing === undefined) this.#missing.set(erasedBy, { count: 1, first: position });
      else missing.count++;
    }
  }

  /**
   * The first place where missing contents and erasures differ. Erasures under way, and those that `isUnderWay`
   * selects, may not have removed all contents yet. None ever removes more than it says.
   */
  failure(isUnderWay: (erasure: number) => boolean = () => false): Failure | undefined {
    const failures: Failure[] = [];
    for (const [erasure, { first }] of this.#missing)
      if (!this.#erased.has(erasure))
        failures.push({ position: first, message: refersToNoErasure(erasure, this.#end) });
    for (const [position, erased] of this.#erased) {
      const { count = 0 } = this.#missing.get(position) ?? {};
      if (count > erased || (count < erased && !this.#underWay.has(position) && !isUnderWay(position)))
        failures.push({
          position,
          message: `it says that it erased ${counted(erased, 'event')}; the number of those that refer to it is ${count}`,
        });
    }
    return failures.toSorted((a, b) => a.position! - b.position!)[0];
  }
}

/**
 * Does each content match its event's commitment, and was each missing content erased? Each event without content must
 * refer to an OwnerErased event, and each OwnerErased event must give the number of events that refer to it.
 *
 * An erasure may remove contents during the pass, so an apparent failure is counted again after the pass. An erasure
 * that is marked as cleared, or has no `erases` any more, has removed all. `end` is the position at which the pass
 * ends.
 */
export function contentsCheck(store: Store, end: number): Check {
  const erasures = new Erasures();
  return {
    question: 'contents',
    take(events) {
      erasures.take(events);
      for (const event of events) verifyContent(event);
      return undefined;
    },
    finish: async (signal) => (erasures.failure() === undefined ? undefined : countedAgain(store, end, signal)),
  };
}

async function countedAgain(store: Store, end: number, signal: AbortSignal | undefined): Promise<Failure | undefined> {
  const uncleared = (await store.unfinished()).filter(({ erases }) => !erases.isCleared);
  const unfinished = new Set(uncleared.map(({ position }) => position));
  const erasures = new Erasures();
  for await (const events of store.read(0, { signal })) erasures.take(events);
  return erasures.failure((erasure) => erasure > end || unfinished.has(erasure));
}
