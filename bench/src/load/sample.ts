/** What one window of load gave. */
export interface Sample {
  /** Requests that were answered, each rightly. */
  readonly count: number;
  /** A second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Measures work that is done again and again. Times are in milliseconds. */
export class Stopwatch {
  readonly #times: number[] = [];
  readonly #start = performance.now();
  #count = 0;

  /** Notes that something that began at `since` (performance.now()) is done; it may stand for several requests. */
  done(since: number, requests = 1): void {
    this.#times.push(performance.now() - since);
    this.#count += requests;
  }

  /** Whether so many seconds have passed. */
  isOver(seconds: number): boolean {
    return performance.now() - this.#start >= seconds * 1_000;
  }

  /** What was measured until now. */
  sample(): Sample {
    const elapsed = performance.now() - this.#start;
    const times = Float64Array.from(this.#times).sort();
    const at = (share: number) => times[Math.min(Math.floor(times.length * share), times.length - 1)] ?? Number.NaN;
    return { count: this.#count, rate: (this.#count * 1_000) / elapsed, p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}
