import { type LoggedEvent, plantEventOf } from '../../../src/log/event/event.ts';
import type { OwnedRow } from '../../../src/log/store.ts';
import { isSameList, listOf } from './answers.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

/**
 * Judges an owner's plants as of a position: they are those of then, or none if the owner was erased later, as must be
 * once the outcome of an erasure (`erased`: its position) was given before. Throws Violation.
 */
export function judgeAsOf(truth: Truth, owner: string, position: number, rows: readonly OwnedRow[], erased: number) {
  const of = rows.filter((row) => row.owner === owner);
  const isGone = of.length === 0 && truth.erasedAt(owner) > position;
  const then = listOf(truth.plantsAt(owner, position), { owner, after: undefined, limit: undefined });
  if (isGone || (erased <= position && isSameList(of, then))) return;
  const ids = (some: readonly { readonly id: bigint }[]) => some.map(({ id }) => id).join();
  throw new Violation('as of', `${owner} is said to have had ${ids(of)} at ${position}, and had ${ids(then)}`, owner);
}

/**
 * Judges what a reader of the log gets over any number of streams: every event once, in order, and as it is, without
 * the content once the outcome of its owner's erasure was given.
 */
export class FollowJudge {
  readonly #truth: Truth;
  readonly #erased: ReadonlyMap<string, number>;
  /** That of the last event. */
  position = 0;

  /** `erased`: the position of each owner's last erasure whose outcome was given. */
  constructor(truth: Truth, erased: ReadonlyMap<string, number>) {
    this.#truth = truth;
    this.#erased = erased;
  }

  /** The reader gets the next events. Throws Violation. */
  take(events: readonly LoggedEvent[]): void {
    for (const { position, hash, event } of events) {
      const expected = this.#truth.events[this.position];
      if (position !== this.position + 1 || expected === undefined || Buffer.compare(hash, expected.hash) !== 0)
        throw new Violation('follow', `a reader of the log gets ${position} after ${this.position}, or another event`);
      const owner = plantEventOf(expected)?.owner;
      if (event === undefined && this.#truth.erasedAt(owner!) < position)
        throw new Violation('follow', `a reader of the log gets ${position} without its content`, owner);
      if (event !== undefined && position < (this.#erased.get(owner!) ?? 0))
        throw new Violation('follow', `a reader of the log gets ${position}, which is erased`, owner);
      this.position = position;
    }
  }
}
