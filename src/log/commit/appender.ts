import { PlantStoreError } from '../../domain/errors.ts';
import { Backoff } from '../../time/backoff.ts';
import { monotonic } from '../../time/host.ts';
import { pause } from '../../time/pause.ts';
import type { LoggedEvent } from '../event/event.ts';
import { RefusedAppendError } from '../store.ts';
import type { Follower } from '../tail/follower.ts';
import { eventAt } from '../whole-range.ts';

/** What is certain after an append. */
export interface Appended {
  /** The number of events, from the first on, that are in the log. */
  readonly landed: number;
  /**
   * True: something else holds the next position, or the store refused the next event, so the rest of the events will
   * never be in the log. False: the rest may still reach the log. Meaningless when all events landed.
   */
  readonly certain: boolean;
}

/** Longest pause between two attempts, in milliseconds. */
const MAX_PAUSE = 250;

/** Milliseconds for which a check of the log's end is fresh enough to append there. */
const CHECK_MAX_AGE = 4;

/** Milliseconds after an append within which the next one may rely on a check made when that append began. */
const MAX_GAP_IN_RUN = 2;

/**
 * Appends events without guessing the outcome. When an append fails in any way but RefusedAppendError, the log decides:
 * - An event that stands in the log exactly as it was sent has landed.
 * - An event whose position something else holds is lost.
 * - While the position is free, the same events are sent again. A position holds one event, whichever copy lands first.
 *
 * Each append needs a recent check that the log still ends with the event to build on. Otherwise an older log, restored
 * meanwhile, could get events behind a gap. In a run of appends the check runs in parallel with the previous append and
 * costs no time.
 */
export class Appender {
  readonly #follower: Follower;
  readonly #onFault: (error: unknown) => void;
  /** When the last append began and ended, by the monotonic clock. */
  #begun = Number.NEGATIVE_INFINITY;
  #ended = Number.NEGATIVE_INFINITY;

  constructor(follower: Follower, onFault: (error: unknown) => void) {
    this.#follower = follower;
    this.#onFault = onFault;
  }

  /**
   * Appends events that follow the tail's head. Gives up at `deadline` (the monotonic clock). If the log's end cannot
   * be checked by then, rejects with STORE_UNAVAILABLE and sends nothing. So it does at once, with nothing appended, if
   * the store refuses the events. If the log was replaced, rejects with LogReplacedError and sends nothing.
   */
  async append(events: readonly LoggedEvent[], deadline: number): Promise<Appended> {
    let landed = 0;
    /** Sends of events that may land yet. */
    let sends = 0;
    const backoff = new Backoff(1, MAX_PAUSE);
    for (;;) {
      try {
        await this.#confirm();
        if (this.#follower.tail.head.position < events[landed]!.position) {
          sends++;
          landed += await this.#send(events.slice(landed));
          if (landed === events.length) return { landed, certain: true };
          // The store answered, and so none of these will land: the next send is the first again. After an earlier send
          // without an answer, events of that one still may.
          if (sends === 1) sends = 0;
          await this.#follower.readOn();
        }
      } catch (error) {
        if (!this.#follower.replaced.aborted) this.#onFault(error);
        // What was sent before may have landed in spite of this answer.
        if (error instanceof RefusedAppendError && sends === 1) {
          if (landed > 0) return { landed, certain: true };
          throw refused(error);
        }
        // Events that were sent may have landed. The sync also checks that the log is still the same one.
        await this.#follower.sync().catch(this.#onFault);
      }
      const { position: known } = this.#follower.tail.head;
      try {
        while (landed < events.length && (await this.#holds(events[landed]!, known))) landed++;
        if (landed === events.length || events[landed]!.position <= known) return { landed, certain: true };
      } catch (error) {
        this.#onFault(error);
      }
      const isSent = sends > 0 || landed > 0;
      if (!isSent) this.#follower.replaced.throwIfAborted();
      if (this.#follower.replaced.aborted) return { landed, certain: false };
      if (monotonic() >= deadline) {
        if (isSent) return { landed, certain: false };
        throw new PlantStoreError('STORE_UNAVAILABLE', 'not applied: the store cannot be reached now; try again');
      }
      await pause(backoff.next());
    }
  }

  /** Resolves when a recent check showed that the log ends with the tail's head, or the tail has caught up. */
  async #confirm(): Promise<void> {
    const now = monotonic();
    const wanted = (now - this.#ended <= MAX_GAP_IN_RUN ? this.#begun : now) - CHECK_MAX_AGE;
    if (this.#follower.checkedAt < wanted) await this.#follower.sync();
    this.#follower.replaced.throwIfAborted();
  }

  /** Sends events and adds those that the store appended to the tail. Returns their number. */
  async #send(events: readonly LoggedEvent[]): Promise<number> {
    this.#begun = monotonic();
    this.#ended = Number.NEGATIVE_INFINITY;
    // Refreshes the check for the next append. The follower's own watch reports faults.
    if (this.#follower.checkedAt < this.#begun - CHECK_MAX_AGE / 2) this.#follower.sync().catch(() => {});
    try {
      const taken = await this.#follower.store.append(events);
      this.#follower.replaced.throwIfAborted();
      this.#follower.tail.extend(events.slice(0, taken));
      this.#ended = monotonic();
      return taken;
    } catch (error) {
      this.#follower.checkForChange(error);
      throw error;
    }
  }

  /**
   * Whether the log has an event, as far as its end is known. Compares hashes: another instance may append the same
   * command under the same event id, but never the same event. The tail may have been restarted behind the event.
   */
  async #holds({ position, hash }: LoggedEvent, end: number): Promise<boolean> {
    if (position > end) return false;
    const { store, tail } = this.#follower;
    const held = tail.at(position) ?? (await eventAt(store, position));
    if (held === undefined) throw new Error(`the store does not return the event at position ${position} of ${end}`);
    return Buffer.compare(held.hash, hash) === 0;
  }
}

/** What a caller hears whose event the database refused. */
export const refused = (cause: RefusedAppendError): PlantStoreError =>
  new PlantStoreError(
    'STORE_UNAVAILABLE',
    `not applied: ${cause.message}; tell the operator, and try again later`,
    { retryAfter: 10 },
    { cause },
  );
