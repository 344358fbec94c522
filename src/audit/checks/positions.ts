import type { LoggedEvent } from '../../log/event/event.ts';
import type { Check, Failure } from './check.ts';

/** Does the log have every position from 1 to `end`, once and in order, and no other? */
export class PositionsCheck implements Check {
  readonly question = 'positions';
  failure: Failure | undefined;
  readonly #end: number;
  #last = 0;

  constructor(end: number) {
    this.#end = end;
  }

  take(events: readonly LoggedEvent[]): void {
    if (this.failure !== undefined) return;
    for (const { position } of events) {
      const expected = this.#last + 1;
      if (position !== expected) {
        this.failure =
          position > expected
            ? { position: expected, message: `missing: ${position} follows ${this.#last}` }
            : { position, message: `out of order or duplicate: it comes after position ${this.#last}` };
        return;
      }
      this.#last = position;
    }
  }

  finish(): void {
    if (this.#last === this.#end) return;
    this.failure ??= {
      position: this.#last + 1,
      message: `missing: the log ends before it, but the read model has reached ${this.#end}`,
    };
  }
}
