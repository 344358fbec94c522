import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import { sizeOf } from '../../log/tail/tail.ts';
import type { PositionedEvent } from './channel.ts';

/** Most events to remember, and most bytes of them. */
export interface RecentBounds {
  readonly events: number;
  readonly bytes: number;
}

/**
 * The last events of the log, bounded in number and bytes. A reader that was away can get the events it missed. It
 * gives all events after a position or none.
 */
export class RecentEvents {
  readonly #bounds: RecentBounds;
  #events: LoggedEvent[] = [];
  /** Index of the first event within the bounds. */
  #first = 0;
  #bytes = 0;
  #head: number;

  /** `head`: position of the log's last event. */
  constructor(bounds: RecentBounds, head: number) {
    this.#bounds = bounds;
    this.#head = head;
  }

  /** Position of the last event of the log. */
  get head(): number {
    return this.#head;
  }

  /** Takes the next events of the log, in order. */
  add(news: readonly LoggedEvent[]): void {
    for (const logged of news) {
      this.#events.push(logged);
      this.#bytes += sizeOf(logged);
      this.#head = logged.position;
    }
    while (this.#events.length - this.#first > this.#bounds.events || this.#bytes > this.#bounds.bytes)
      this.#bytes -= sizeOf(this.#events[this.#first++]!);
    // Moving the rest at every event would take time in proportion to the number of events.
    if (this.#first > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
  }

  /** The owner's events after a position, in order. Undefined when the position is too old or ahead of the log. */
  after(position: number, owner: string): PositionedEvent[] | undefined {
    const missed = this.#head - position;
    if (missed < 0 || missed > this.#events.length - this.#first) return undefined;
    return this.#events.slice(this.#events.length - missed).flatMap((logged) => {
      const event = plantEventOf(logged);
      return event?.owner === owner ? [{ position: logged.position, event }] : [];
    });
  }

  /** Forgets all events. */
  forget(): void {
    this.#events = [];
    this.#first = 0;
    this.#bytes = 0;
  }
}
