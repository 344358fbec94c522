import type { LoggedEvent } from '../event/event.ts';

/** The last events of a log, in memory, without a gap. */
export class EventWindow {
  /** The events from #origin on. In place of those before #first is nothing. */
  #events: (LoggedEvent | undefined)[] = [];
  #origin: number;
  #first: number;

  /** An empty one. `next`: position of the next event of the log. */
  constructor(next: number) {
    this.#first = next;
    this.#origin = next;
  }

  /** Position of the oldest event in memory, or of the next one of the log if there is none. */
  get first(): number {
    return this.#first;
  }

  /** The event at a position, if it is in memory. */
  at(position: number): LoggedEvent | undefined {
    return this.#events[position - this.#origin];
  }

  /** At most `limit` events after a position, of which the first must be in memory, or the next of the log. */
  after(position: number, limit = Number.POSITIVE_INFINITY): LoggedEvent[] {
    if (position + 1 < this.#first)
      throw new RangeError(`the events after ${position} are not in memory: it begins with ${this.#first}`);
    const start = position + 1 - this.#origin;
    return this.#events.slice(start, start + limit) as LoggedEvent[];
  }

  /** Adds the next event of the log. */
  push(event: LoggedEvent): void {
    this.#events.push(event);
  }

  /** Drops the oldest event. There must be one. */
  shift(): LoggedEvent {
    const oldest = this.at(this.#first)!;
    this.#events[this.#first - this.#origin] = undefined;
    this.#first++;
    const gone = this.#first - this.#origin;
    // Moving the rest at every event would take time in proportion to the number of events.
    if (gone > this.#events.length / 2) {
      this.#events = this.#events.slice(gone);
      this.#origin = this.#first;
    }
    return oldest;
  }

  /** Drops everything, and begins again before the event at position `next`. */
  restart(next: number): void {
    this.#events = [];
    this.#first = next;
    this.#origin = next;
  }
}
