import { PlantStoreError } from '../../domain/errors.ts';
import { Backoff } from '../../time/backoff.ts';
import { pause } from '../../time/pause.ts';
import type { LoggedEvent } from '../event/event.ts';
import type { Store } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import type { Tail } from '../tail/tail.ts';

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

/** Milliseconds for which a look at the end of the log is good enough to append there. */
const FRESH = 4;

/** Milliseconds after an append within which the next one follows on it: what was seen when that began is then good enough. */
const RUN = 2;

/**
 * Appends events and does not guess. When an append fails in any way, the log decides: what stands there as the very events that
 * were sent has landed; a position that something else holds is lost; and while the position is free the same events are sent again,
 * since a position holds one event, whichever copy lands first.
 *
 * Before it appends it has just seen that the log still ends with what the events build on, so that an older log that was restored
 * meanwhile gets no event behind a hole. Where appends follow on each other, the look is taken beside the append before, and costs
 * no time.
 */
export class Appender {
  readonly #store: Store;
  readonly #tail: Tail;
  readonly #follower: Follower;
  readonly #onFault: (error: unknown) => void;
  /** Of performance.now(): when the last append began and ended. */
  #begun = Number.NEGATIVE_INFINITY;
  #ended = Number.NEGATIVE_INFINITY;

  constructor(store: Store, tail: Tail, follower: Follower, onFault: (error: unknown) => void) {
    this.#store = store;
    this.#tail = tail;
    this.#follower = follower;
    this.#onFault = onFault;
  }

  /**
   * Appends events that follow the tail's head. Gives up at `deadline`, of performance.now(). Rejects, with none of them sent, with
   * STORE_UNAVAILABLE when the end of the log could not be seen till then, and with LogChangedError when it is another.
   */
  async append(events: readonly LoggedEvent[], deadline: number): Promise<Appended> {
    let landed = 0;
    let sent = false;
    const backoff = new Backoff(1, MAX_PAUSE);
    for (;;) {
      try {
        await this.#confirm();
        if (this.#tail.head.position < events[landed]!.position) {
          sent = true;
          landed += await this.#send(events.slice(landed));
          if (landed === events.length) return { landed, certain: true };
          await this.#follower.readOn();
        }
      } catch (error) {
        if (!this.#follower.changed.aborted) this.#onFault(error);
        // What was sent may be there: the look also tells whether the log still is the one that it was sent to.
        await this.#follower.sync().catch(this.#onFault);
      }
      while (landed < events.length && this.#holds(events[landed]!)) landed++;
      if (landed === events.length) return { landed, certain: true };
      if (this.#tail.head.position >= events[landed]!.position) return { landed, certain: true };
      if (!sent) this.#follower.changed.throwIfAborted();
      if (this.#follower.changed.aborted) return { landed, certain: false };
      if (performance.now() >= deadline) {
        if (sent) return { landed, certain: false };
        throw new PlantStoreError('STORE_UNAVAILABLE', 'not applied: the store cannot be reached now; try again', {
          retryAfter: 1,
        });
      }
      await pause(backoff.next());
    }
  }

  /** Resolves when the log was just seen to end with the tail's head, or the tail has been brought to where it ends. */
  async #confirm(): Promise<void> {
    const now = performance.now();
    const wanted = (now - this.#ended <= RUN ? this.#begun : now) - FRESH;
    if (this.#follower.lookedAt < wanted) await this.#follower.sync();
    this.#follower.changed.throwIfAborted();
  }

  /** Sends events, and takes what the store appended of them into the tail. Returns how many that were. */
  async #send(events: readonly LoggedEvent[]): Promise<number> {
    this.#begun = performance.now();
    this.#ended = Number.NEGATIVE_INFINITY;
    // For the append after this one. Whoever watches the log hears of its faults.
    if (this.#follower.lookedAt < this.#begun - FRESH / 2) this.#follower.sync().catch(() => {});
    try {
      const taken = await this.#store.append(events);
      this.#follower.changed.throwIfAborted();
      this.#tail.extend(events.slice(0, taken));
      this.#ended = performance.now();
      return taken;
    } catch (error) {
      this.#follower.distrust(error);
      throw error;
    }
  }

  /** The hash tells: another instance may append the same command, under the same id, but not as the same event. */
  #holds({ position, hash }: LoggedEvent): boolean {
    const held = this.#tail.at(position);
    return held !== undefined && Buffer.compare(held.hash, hash) === 0;
  }
}
