import { Backoff } from '../../time/backoff.ts';
/** Durations of a refresher, in milliseconds. */
export interface RefreshTiming {
  /** From a good attempt to the next one. */
  readonly refresh: number;
  /** After a good attempt, how long a request for another is answered with that one. */
  readonly cooldown: number;
  /** After a failed attempt, how long none is made. It doubles with each further failure, up to `maxPause`. */
  readonly pause: number;
  readonly maxPause: number;
}

// Most callers that wait for one attempt. More would be a queue that anybody can fill.
const MAX_WAITING = 1_000;

/**
 * Repeats a task for ever in the background, and earlier on request, so that neither the callers nor a failure of the task
 * can make it run twice at once or without a pause.
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

  /** Starts the first attempt and waits for nothing. `onAttempt` is told of each attempt, with the error if it failed. */
  constructor(task: () => Promise<void>, timing: RefreshTiming, onAttempt?: (failure: Error | undefined) => void) {
    this.#task = task;
    this.#timing = timing;
    this.#backoff = new Backoff(timing.pause, timing.maxPause);
    this.#onAttempt = onAttempt;
    void this.#run();
  }

  /** Why the last attempt failed; undefined when it did not, or none has ended. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Whole seconds until the next attempt can be made; at least 1. */
  get retryAfter(): number {
    return Math.max(1, Math.ceil((this.#notBefore - performance.now()) / 1000));
  }

  /**
   * Asks for an attempt: joins the one under way, or starts one unless the last was too recent. Resolves to whether the last
   * attempt was good; to false also when too many wait already.
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

  /** No further attempt is made. One under way ends by itself. */
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
