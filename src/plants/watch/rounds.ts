import { cpuTime, monotonic, nextTurn, setTimer } from '../../time/host.ts';
import type { Channel, Subscriber } from './channel.ts';

/** Milliseconds of a round, after which other work has its turn. */
const SLICE_LIMIT = 4;
/** Milliseconds of rest for each of CPU: an event with thousands of watchers must not stop the adds. */
const REST_FACTOR = 7;
/** The same once news has waited for longer than LATE_LIMIT milliseconds, so that its delay is bounded too. */
const LATE_REST_FACTOR = 1;
const LATE_LIMIT = 100;
/** Most milliseconds of rest that a late turn makes up for. */
const MAX_CREDIT = 40;

/**
 * Delivers news to the watches, a few at a time, those that wait longest first. Events that come meanwhile join the
 * delivery. Each watch gets one write, however many events there are: the write is the expensive part.
 */
export class Rounds {
  /** The watches that have news, and since when. */
  readonly #due = new Map<Subscriber, number>();
  #isPlanned = false;
  #restUntil = 0;

  /** Schedules the watches of a channel that has news. */
  begin({ subscribers }: Channel): void {
    const now = monotonic();
    for (const subscriber of subscribers) if (!this.#due.has(subscriber)) this.#due.set(subscriber, now);
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    const rest = this.#restUntil - monotonic();
    if (rest < 1) nextTurn(() => this.#turn());
    else setTimer(() => this.#turn(), rest);
  }

  #turn(): void {
    this.#isPlanned = false;
    const [start, before] = [monotonic(), cpuTime()];
    let isLate = false;
    for (const [subscriber, since] of this.#due) {
      isLate ||= start - since > LATE_LIMIT;
      this.#due.delete(subscriber);
      subscriber.deliver();
      if (monotonic() - start >= SLICE_LIMIT) break;
    }
    const rest = (cpuTime() - before) * (isLate ? LATE_REST_FACTOR : REST_FACTOR);
    this.#restUntil = Math.max(this.#restUntil, monotonic() - MAX_CREDIT) + rest;
    if (this.#due.size > 0) this.#plan();
  }
}
