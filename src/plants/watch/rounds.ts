import type { Channel, Hearer } from './channel.ts';

/** Watches that one channel may serve before the others have their turn. */
const SHARE = 16;
/** Milliseconds of CPU after which everything else has its turn. */
const SLICE = 4;
/** Each millisecond of CPU is followed by so many for everything else: an event that thousands watch must not stop the adds. */
const REST = 7;
/** Less than that, once a round has lasted longer than LATE milliseconds: news may not be late without end, either. */
const LATE_REST = 1;
const LATE = 100;
/** Most milliseconds of rest that are made up for, when a turn came late. */
const CREDIT = 40;

/** Telling one channel's news to all who watch it. */
interface Round {
  /** Those who have not had them yet. */
  readonly hearers: Iterator<Hearer>;
  readonly began: number;
}

/**
 * Brings news to the watches, a few at a time. What comes meanwhile rides along: each watch is written to once a round, however many
 * events there are, since it is the write that costs.
 */
export class Rounds {
  readonly #due = new Map<Channel, Round>();
  /** Those of them where more has come since their round began. */
  readonly #again = new Set<Channel>();
  #isPlanned = false;
  #restUntil = 0;

  /** A channel has news. */
  begin(channel: Channel): void {
    if (this.#due.has(channel)) this.#again.add(channel);
    else this.#due.set(channel, roundOf(channel));
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    const rest = this.#restUntil - performance.now();
    if (rest < 1) setImmediate(() => this.#turn());
    else setTimeout(() => this.#turn(), rest);
  }

  #turn(): void {
    this.#isPlanned = false;
    const [start, before] = [performance.now(), cpu()];
    let [work, isLate] = [0, false];
    for (const [channel, round] of this.#due) {
      isLate ||= start - round.began > LATE;
      this.#due.delete(channel);
      if (serve(round.hearers)) this.#due.set(channel, round);
      else if (this.#again.delete(channel)) this.#due.set(channel, roundOf(channel));
      work = cpu() - before;
      if (work >= SLICE) break;
    }
    const rest = work * (isLate ? LATE_REST : REST);
    this.#restUntil = Math.max(this.#restUntil, performance.now() - CREDIT) + rest;
    if (this.#due.size > 0) this.#plan();
  }
}

const roundOf = ({ hearers }: Channel): Round => ({ hearers: hearers.values(), began: performance.now() });

/** Milliseconds of CPU that this thread has used, in the kernel too, where most of a write is spent. */
function cpu(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Returns whether there may be more of them. */
function serve(hearers: Iterator<Hearer>): boolean {
  for (let served = 0; served < SHARE; served++) {
    const { done, value } = hearers.next();
    if (done === true) return false;
    value.deliver();
  }
  return true;
}
