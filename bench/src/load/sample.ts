/** Of times, in milliseconds. */
export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** What one window of load gave. */
export interface Sample extends Quantiles {
  /** Requests that were answered, each rightly. */
  readonly count: number;
  /** A second. */
  readonly rate: number;
}

/** The quantiles of some times; NaN of none. */
export function quantiles(times: readonly number[]): Quantiles {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
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
    return { count: this.#count, rate: (this.#count * 1_000) / elapsed, ...quantiles(this.#times) };
  }
}
