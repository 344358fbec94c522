import type { Caller } from '../admission/connection.ts';

/** Milliseconds between two checks of what was read. */
const CHECK_INTERVAL = 10;
/** Most bytes between two checks, of all connections, before those that sent most of it have to wait. */
const MAX_BYTES = 256 * 1024;
/** Bytes of one read beyond which a connection has to wait. */
const LARGE_BYTES = 16 * 1024;
/** Milliseconds for which a connection is read at the pace after its last large read. */
const PACED_TIME = 1_000;
/** After a large read, no connection reads on for so many times as long as its turn of the event loop took. */
const REST_FACTOR = 4;

/** A connection as the pace sees it. */
export interface Paced {
  readonly caller: Caller;
  /** Bytes of no call that Node has parsed since this was last asked. */
  readSince(): number;
  /** Lets nothing more be read until `resume`. */
  pause(): void;
  /** Lets it read once, at its turn. */
  resume(): void;
}

/**
 * Limits how fast frames are read that belong to no call, such as those that open windows. Node parses all that it
 * reads at once, and tells nobody of most frames. So once connections have sent much of it, each of them is read once
 * at a time, in turns, the caller with the fewest first; and what that takes is a part of the time of the event loop.
 */
export class ReadPace {
  readonly #open = new Set<Paced>();
  /** Those that wait, in order of arrival. */
  readonly #waiting = new Set<Paced>();
  /** When those that sent much are read as others are, by `performance.now()`. */
  readonly #calmAt = new WeakMap<Paced, number>();
  /** When the next one may read on. */
  #next = 0;
  /** The last one that read on. */
  #resumed: Paced | undefined;
  readonly #timer = setInterval(() => this.#check(), CHECK_INTERVAL).unref();

  add(connection: Paced): void {
    this.#open.add(connection);
  }

  /** The connection is closed. One that was found closed when it read on took no time. */
  remove(connection: Paced): void {
    this.#open.delete(connection);
    this.#waiting.delete(connection);
    if (this.#resumed === connection) this.#resume();
  }

  /** A connection has read once, in a turn of the event loop that took so many milliseconds. */
  hasRead(connection: Paced, milliseconds: number): void {
    const now = performance.now();
    if (connection.readSince() > LARGE_BYTES) {
      this.#calmAt.set(connection, now + PACED_TIME);
      this.#next = now + REST_FACTOR * milliseconds;
    }
    if (now < (this.#calmAt.get(connection) ?? 0)) this.#stop(connection);
  }

  /** Ends the checks. */
  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    if (now >= this.#next) this.#resume();
    let all = 0;
    const large: Paced[] = [];
    for (const connection of this.#open) {
      const read = connection.readSince();
      all += read;
      if (read > MAX_BYTES / this.#open.size) large.push(connection);
    }
    if (all <= MAX_BYTES) return;
    for (const connection of large) {
      this.#calmAt.set(connection, now + PACED_TIME);
      this.#stop(connection);
    }
  }

  #resume(): void {
    // By owner and not by caller: without a token, a connection changes its caller with its first request.
    const [[next] = []] = [...Map.groupBy(this.#waiting, ({ caller }) => caller.owner).values()].toSorted(
      (one, other) => one.length - other.length,
    );
    this.#resumed = next;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next.resume();
  }

  #stop(connection: Paced): void {
    if (!this.#open.has(connection)) return;
    connection.pause();
    this.#waiting.add(connection);
  }
}
