import { cpuTime, monotonic, nextTurn, setTimer } from '../../time/host.ts';
import type { Channel, Subscriber } from './channel.ts';

/** Watches that one channel may serve before the other channels have a turn. */
const SHARE = 16;
/** Milliseconds of CPU after which other work has a turn. */
const SLICE = 4;
/** Milliseconds for other work after each of CPU: an event with thousands of watchers must not stop the adds. */
const REST = 7;
/** A shorter rest once a round has lasted longer than LATE milliseconds: the delay of news must be bounded too. */
const LATE_REST = 1;
const LATE = 100;
/** Most milliseconds of rest that a late turn makes up for. */
const CREDIT = 40;

/** The delivery of one channel's news to all its readers. */
interface Round {
  readonly subscribers: Iterator<Subscriber>;
  readonly began: number;
}

/**
 * Delivers news to the watches, a few at a time. Events that come meanwhile join the delivery. Each watch gets one
 * write a round, however many events there are: the write is the expensive part.
 */
export class Rounds {
  readonly #due = new Map<Channel, Round>();
  /** Channels with more news since their round began. */
  readonly #again = new Set<Channel>();
  #isPlanned = false;
  #restUntil = 0;

  /** Schedules a channel that has news. */
  begin(channel: Channel): void {
    if (this.#due.has(channel)) this.#again.add(channel);
    else this.#due.set(channel, roundOf(channel));
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
    let [work, isLate] = [0, false];
    for (const [channel, round] of this.#due) {
      isLate ||= start - round.began > LATE;
      this.#due.delete(channel);
      if (serve(round.subscribers)) this.#due.set(channel, round);
      else if (this.#again.delete(channel)) this.#due.set(channel, roundOf(channel));
      work = cpuTime() - before;
      if (work >= SLICE) break;
    }
    const rest = work * (isLate ? LATE_REST : REST);
    this.#restUntil = Math.max(this.#restUntil, monotonic() - CREDIT) + rest;
    if (this.#due.size > 0) this.#plan();
  }
}

const roundOf = ({ subscribers }: Channel): Round => ({ subscribers: subscribers.values(), began: monotonic() });

/** Returns whether more readers may remain. */
function serve(subscribers: Iterator<Subscriber>): boolean {
  for (let served = 0; served < SHARE; served++) {
    const { done, value } = subscribers.next();
    if (done === true) return false;
    value.deliver();
  }
  return true;
}
