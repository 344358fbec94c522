import type { Channel, Hearer } from './channel.ts';

/** Watches that one channel may serve before the others have their turn. */
const SHARE = 16;
/** Milliseconds of work after which the event loop has its turn. */
const SLICE = 4;
/**
 * For each millisecond of work, so many are for everything else, the kernel and the readers of this host among it, whom a write costs
 * several times what it costs here: an event that thousands watch must not stop the adds.
 */
const REST = 25;
/** Most milliseconds of that: how late news may be for it. */
const MAX_REST = 40;

/**
 * Brings news to the watches, a few at a time. What comes meanwhile rides along: the more there is to do, the more events go out
 * together.
 */
export class Rounds {
  /** Channels with news, and the watches that have not had them yet. */
  readonly #due = new Map<Channel, Iterator<Hearer>>();
  /** Those of them where more has come since their round began. */
  readonly #again = new Set<Channel>();
  #isPlanned = false;
  #restUntil = 0;

  /** A channel has news. */
  begin(channel: Channel): void {
    if (this.#due.has(channel)) this.#again.add(channel);
    else this.#due.set(channel, channel.hearers.values());
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
    const began = performance.now();
    let now = began;
    for (const [channel, watches] of this.#due) {
      this.#due.delete(channel);
      if (serve(watches)) this.#due.set(channel, watches);
      else if (this.#again.delete(channel)) this.#due.set(channel, channel.hearers.values());
      now = performance.now();
      if (now - began >= SLICE) break;
    }
    this.#restUntil = now + Math.min(REST * (now - began), MAX_REST);
    if (this.#due.size > 0) this.#plan();
  }
}

/** Returns whether there may be more of them. */
function serve(watches: Iterator<Hearer>): boolean {
  for (let served = 0; served < SHARE; served++) {
    const { done, value } = watches.next();
    if (done === true) return false;
    value.deliver();
  }
  return true;
}
