import { Backoff } from '../../time/backoff.ts';

/** Durations of a refresher, in milliseconds. */
export interface RefreshTiming {
  /** From a successful attempt to the next one. */
  readonly refresh: number;
  /** After a successful attempt, how long a request returns its result instead of starting another. */
  readonly cooldown: number;
  /** After a failed attempt, the pause before the next. It doubles with each further failure, up to `maxPause`. */
  readonly pause: number;
  readonly maxPause: number;
}

// Most callers that wait for one attempt, so that no client can fill an unbounded queue.
const MAX_WAITING = 1_000;

/**
 * Repeats a task in the background, and earlier on request. Attempts never overlap, and never follow each other without
 * a pause, whatever callers do or the task's failures are.
 */
export class Refresher {
  readonly #task: () => Promise<void>;
  readonly #timing: RefreshTiming;
  readonly #onAttempt: ((failure: Error | undefined) => void) | undefined;
  #running: Promise<void> | undefined;
  #notBefore = 0;
  #failure: Error | undefined;
  readonly #backoff: Backoff;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * Starts the first attempt without waiting for it. `onAttempt` is called after each attempt, with the error if it
   * failed.
   */
  constructor(task: () => Promise<void>, timing: RefreshTiming, onAttempt?: (failure: Error | undefined) => void) {
    this.#task = task;
    this.#timing = timing;
    this.#backoff = new Backoff(timing.pause, timing.maxPause);
    this.#onAttempt = onAttempt;
    void this.#run();
  }

  /** The error of the last attempt; undefined if it succeeded or none has ended. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Whole seconds until the next possible attempt; at least 1. */
  get retryAfter(): number {
    return Math.max(1, Math.ceil((this.#notBefore - performance.now()) / 1000));
  }

  /**
   * Requests an attempt: joins the running one, or starts one unless the last is too recent. Resolves to whether the
   * last attempt succeeded, or to false if too many callers wait.
   */
  async request(): Promise<boolean> {
    if (this.#running !== undefined || performance.now() >= this.#notBefore) {
      if (this.#waiting >= MAX_WAITING) return false;
      this.#waiting += 1;
      await this.#run().finally(() => {
        this.#waiting -= 1;
      });
    }
    return this.#failure === undefined;
  }

  /** Prevents further attempts. A running one ends by itself. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #run(): Promise<void> {
    this.#running ??= this.#task()
      .then(
        () => this.#ended(undefined),
        (failure: Error) => this.#ended(failure),
      )
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  #ended(failure: Error | undefined): void {
    const { refresh, cooldown } = this.#timing;
    this.#failure = failure;
    if (failure === undefined) this.#backoff.reset();
    const rest = failure === undefined ? cooldown : this.#backoff.next();
    this.#notBefore = performance.now() + rest;
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), failure === undefined ? refresh : rest).unref();
    this.#onAttempt?.(failure);
  }
}
