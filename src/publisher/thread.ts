import { Worker } from 'node:worker_threads';
import { pause } from '../time/pause.ts';
import { type PublisherStatus, StatusKeeper } from './status.ts';
import { CLOSE, type StatusMessage } from './thread-messages.ts';

/** Milliseconds after which a thread that ended by an error is started again. */
const RESTART = 1_000;
/** Milliseconds that closing waits for what is being published. What is cut off then is undone by whoever goes on. */
const CLOSE_LIMIT = 5_000;

/**
 * The publisher in a thread of its own. To write a message costs Kafka's client more than an append costs the log: on the thread of
 * the commands, catching up made them wait several times as long. The thread reads the store itself, so no event passes from here to there.
 */
export class PublisherThread implements AsyncDisposable {
  readonly #program: URL;
  readonly #settings: unknown;
  readonly #onChange: (status: PublisherStatus) => void;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #status: PublisherStatus = new StatusKeeper(() => {}).status;
  #worker: Worker | undefined;

  /** Starts the program, which gets the settings as its workerData. `onChange` hears of each change of state, and of each new detail. */
  constructor(program: URL, settings: unknown, onChange: (status: PublisherStatus) => void) {
    this.#program = program;
    this.#settings = settings;
    this.#onChange = onChange;
    this.#running = this.#run();
  }

  /** How publication stood when the thread last told: a second ago at most. */
  stats(): PublisherStatus {
    return this.#status;
  }

  /** Finishes what is being published, within limits, and lets another instance go on. */
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
      const worker = new Worker(this.#program, { workerData: this.#settings });
      worker.on('message', ({ status, changed }: StatusMessage) => {
        this.#status = status;
        if (changed) this.#onChange(status);
      });
      worker.on('error', (error) => this.#failed(error));
      this.#worker = worker;
      await new Promise((resolve) => worker.once('exit', resolve));
      await pause(RESTART, signal);
    }
  }

  #failed(error: unknown): void {
    const detail = `the publisher ended and is started again: ${error instanceof Error ? error.message : error}`;
    if (this.#status.state === 'degraded' && this.#status.detail === detail) return;
    this.#status = { ...this.#status, state: 'degraded', since: new Date().toISOString(), detail };
    this.#onChange(this.#status);
  }
}
