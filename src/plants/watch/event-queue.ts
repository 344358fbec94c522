/** Something that happened at a position of the log. */
interface Positioned {
  readonly position: number;
}

/** Events in the order of their positions: the new ones come in at the end, the oldest one goes out. */
export class EventQueue<Event extends Positioned> {
  #events: Event[] = [];
  /** Index of the oldest event that is in the queue. */
  #first = 0;

  get length(): number {
    return this.#events.length - this.#first;
  }

  /** Takes an event that is newer than all others. */
  push(event: Event): void {
    this.#events.push(event);
  }

  /** Removes the oldest event. The queue must not be empty. */
  shift(): Event {
    const oldest = this.#events[this.#first++]!;
    // Moving the rest at every event would take time in proportion to the number of events.
    if (this.#first > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
    return oldest;
  }

  /** The events after a position, found by a binary search. */
  after(position: number): Event[] {
    let [low, high] = [this.#first, this.#events.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.position > position) high = middle;
      else low = middle + 1;
    }
    return this.#events.slice(low);
  }
}
