import { type LoggedEvent, plantEventOf } from '../../log/event/event.ts';
import { sizeOf } from '../../log/tail/tail.ts';
import type { PositionedEvent } from './channel.ts';
import { EventQueue } from './event-queue.ts';

/** Most events to remember, and most bytes of them. */
export interface RecentBounds {
  readonly events: number;
  readonly bytes: number;
}

/**
 * The last events of the log, bounded in number and bytes. A reader that was away can get the events it missed. It
 * gives all events after a position or none. What it takes to find an owner's events does not depend on the others'.
 */
export class RecentEvents {
  readonly #bounds: RecentBounds;
  #events = new EventQueue<LoggedEvent>();
  /** The plant events of `#events` by owner, for owners that have any: so it is bounded as they are. */
  readonly #ofOwners = new Map<string, EventQueue<PositionedEvent>>();
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
      this.#index(logged);
      this.#bytes += sizeOf(logged);
      this.#head = logged.position;
    }
    while (this.#events.length > this.#bounds.events || this.#bytes > this.#bounds.bytes) this.#drop();
  }

  /** The owner's events after a position, in order. Undefined when the position is too old or ahead of the log. */
  after(position: number, owner: string): PositionedEvent[] | undefined {
    const missed = this.#head - position;
    if (missed < 0 || missed > this.#events.length) return undefined;
    return this.#ofOwners.get(owner)?.after(position) ?? [];
  }

  /** Forgets all events. */
  forget(): void {
    this.#events = new EventQueue();
    this.#ofOwners.clear();
    this.#bytes = 0;
  }

  #index(logged: LoggedEvent): void {
    const event = plantEventOf(logged);
    if (event === undefined) return;
    let ofOwner = this.#ofOwners.get(event.owner);
    if (ofOwner === undefined) {
      ofOwner = new EventQueue();
      this.#ofOwners.set(event.owner, ofOwner);
    }
    ofOwner.push(logged as PositionedEvent);
  }

  /** Drops the oldest event, which is the oldest of its owner too. */
  #drop(): void {
    const oldest = this.#events.shift();
    this.#bytes -= sizeOf(oldest);
    const owner = plantEventOf(oldest)?.owner;
    const ofOwner = owner === undefined ? undefined : this.#ofOwners.get(owner);
    if (ofOwner === undefined) return;
    ofOwner.shift();
    if (ofOwner.length === 0) this.#ofOwners.delete(owner!);
  }
}
