import { setTimeout as sleep } from 'node:timers/promises';
import type { LoggedEvent } from './event.ts';
import type { Follower } from './follower.ts';
import type { Store } from './store.ts';
import type { Tail } from './tail.ts';

/** What is known for certain after an append. */
export interface Appended {
  /** So many of the events, from the first on, are in the log. */
  readonly landed: number;
  /**
   * True: something else holds the next position, the rest of the events will never be in the log. False: nobody knows of the
   * rest, they may still get there. Without meaning when all landed.
   */
  readonly certain: boolean;
}

/** Longest pause between two attempts, in milliseconds. */
const MAX_PAUSE = 250;

/**
 * Appends events and does not guess. When an append fails in any way, the log decides: what stands there as the very events that
 * were sent has landed; a position that something else holds is lost; and while the position is free the same events are sent again,
 * since a position holds one event, whichever copy lands first.
 */
export class Appender {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #follower: Follower;
  readonly #onFault: (error: unknown) => void;

  constructor(store: Store, tail: Tail, follower: Follower, onFault: (error: unknown) => void) {
    this.#store = store;
    this.#tail = tail;
    this.#follower = follower;
    this.#onFault = onFault;
  }

  /** Appends events that follow the tail's head. Gives up at `deadline`, of performance.now(). Never rejects. */
  async append(events: readonly LoggedEvent[], deadline: number): Promise<Appended> {
    let landed = 0;
    for (let attempt = 0; ; attempt++) {
      try {
        const taken = await this.#store.append(events[landed]!.position - 1, events.slice(landed));
        this.#tail.extend(events.slice(landed, landed + taken));
        landed += taken;
        if (landed === events.length) return { landed, certain: true };
        await this.#follower.readOn();
      } catch (error) {
        this.#onFault(error);
        await this.#follower.readOn().catch(this.#onFault);
      }
      while (landed < events.length && this.#holds(events[landed]!)) landed++;
      if (landed === events.length) return { landed, certain: true };
      if (this.#tail.head.position >= events[landed]!.position) return { landed, certain: true };
      if (performance.now() >= deadline) return { landed, certain: false };
      await sleep(Math.min(2 ** attempt, MAX_PAUSE) * (0.5 + Math.random()));
    }
  }

  /** The hash tells: another instance may append the same command, under the same id, but not as the same event. */
  #holds({ position, hash }: LoggedEvent): boolean {
    const held = this.#tail.at(position);
    return held !== undefined && Buffer.compare(held.hash, hash) === 0;
  }
}
