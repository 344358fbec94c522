import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import { sizeOf } from '../../log/tail/tail.ts';
import type { PositionedEvent } from './channel.ts';

/** Most events to remember, and most bytes of them. */
export interface RecentBounds {
  readonly events: number;
  readonly bytes: number;
}

/**
 * The last events of the log, bounded in number and bytes, so that who was away for a while can be told what they missed.
 * It never tells of a part of what came after a position: of all, or of nothing.
 */
export class RecentEvents {
  readonly #bounds: RecentBounds;
  #events: LoggedEvent[] = [];
  /** Index of the first that still counts. */
  #first = 0;
  #bytes = 0;
  #head: number;

  /** Of a log whose last event is at `head`. */
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
    // Moving what is left at each event would cost as much as there are events.
    if (this.#first > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#first);
      this.#first = 0;
    }
  }

  /** The owner's events after a position, in order; undefined when it is too long ago, or ahead of the log. */
  after(position: number, owner: string): PositionedEvent[] | undefined {
    const missed = this.#head - position;
    if (missed < 0 || missed > this.#events.length - this.#first) return undefined;
    return this.#events.slice(this.#events.length - missed).flatMap((logged) => {
      const event = plantEventOf(logged);
      return event?.owner === owner ? [{ position: logged.position, event }] : [];
    });
  }

  /** Forgets all of them. */
  forget(): void {
    this.#events = [];
    this.#first = 0;
    this.#bytes = 0;
  }
}
