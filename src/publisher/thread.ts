import { Worker } from 'node:worker_threads';
import { pause } from '../time/pause.ts';
import { type PublisherStatus, StatusReporter } from './status.ts';
import { reasonOf } from './topic.ts';

/** A message of the publisher's thread with its status. */
export interface StatusMessage {
  readonly status: PublisherStatus;
  /** True for a new state or detail; false for the regular report. */
  readonly changed: boolean;
}

/** The message that closes the publisher's thread. */
export const CLOSE = 'close';

/** Milliseconds between two regular reports. */
export const REPORT_INTERVAL = 1_000;

/** Milliseconds after which a failed thread is restarted. */
const RESTART_PAUSE = 1_000;
/** Most milliseconds to wait for the current batch when closing. The next publisher aborts a cut-off transaction. */
const CLOSE_LIMIT = 5_000;

/**
 * Runs the publisher in its own thread, which reads the store itself. Writing a message takes Kafka's client more CPU
 * than an append takes the log; on the main thread, catching up made commands several times slower.
 */
export class PublisherThread implements AsyncDisposable {
  readonly #program: URL;
  readonly #settings: unknown;
  readonly #onChange: (status: PublisherStatus) => void;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #status: PublisherStatus = new StatusReporter(() => {}).status;
  #worker: Worker | undefined;

  /** Starts the program with the settings as its workerData. `onChange` gets each new state or detail. */
  constructor(program: URL, settings: unknown, onChange: (status: PublisherStatus) => void) {
    this.#program = program;
    this.#settings = settings;
    this.#onChange = onChange;
    this.#running = this.#run();
  }

  /** The last reported status, at most a second old. */
  status(): PublisherStatus {
    return this.#status;
  }

  /** Completes the current batch, within a time limit, and lets another instance take over. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#worker?.postMessage(CLOSE);
    const limit = setTimeout(() => void this.#worker?.terminate(), CLOSE_LIMIT);
    await this.#running;
    clearTimeout(limit);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#runOnce();
      } catch (error) {
        // There is no thread, such as at a limit on them.
        this.#failed(error);
      }
      await pause(RESTART_PAUSE, signal);
    }
  }

  /** Resolves when the thread has ended. Rejects if it cannot be made. */
  async #runOnce(): Promise<void> {
    const worker = new Worker(this.#program, { workerData: this.#settings });
    worker.on('message', ({ status, changed }: StatusMessage) => {
      this.#status = status;
      if (changed) this.#onChange(status);
    });
    worker.on('error', (error) => this.#failed(error));
    this.#worker = worker;
    await new Promise((resolve) => worker.once('exit', resolve));
  }

  #failed(error: unknown): void {
    const detail = `the publisher failed and will be restarted: ${reasonOf(error)}`;
    if (this.#status.state === 'degraded' && this.#status.detail === detail) return;
    this.#status = { ...this.#status, state: 'degraded', detail };
    this.#onChange(this.#status);
  }
}
