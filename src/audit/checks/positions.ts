import type { LoggedEvent } from '../../log/event/event.ts';
import type { Check, Failure } from './check.ts';

/** Does the log have every position from 1 to `end`, once and in order, and no other? */
export class PositionsCheck implements Check {
  readonly question = 'positions';
  readonly #end: number;
  #last = 0;

  constructor(end: number) {
    this.#end = end;
  }

  take(events: readonly LoggedEvent[]): Failure | undefined {
    for (const { position } of events) {
      const expected = this.#last + 1;
      if (position > expected) return { position: expected, message: `missing: ${position} follows ${this.#last}` };
      if (position < expected)
        return { position, message: `out of order or duplicate: it comes after position ${this.#last}` };
      this.#last = position;
    }
    return undefined;
  }

  finish(): Failure | undefined {
    if (this.#last === this.#end) return undefined;
    return {
      position: this.#last + 1,
      message: `missing: the log ends before it, but the read model has reached ${this.#end}`,
    };
  }
}
