import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { KafkaOptions } from '../../src/publisher/kafka/kafka-topic.ts';
import type { PublisherStatus } from '../../src/publisher/status.ts';

const PROGRAM = join(import.meta.dirname, 'publisher-program.ts');

/** An instance that publishes, in a process of its own. */
export class PublisherProcess implements AsyncDisposable {
  /** Every change of its status, the first one first. */
  readonly changes: PublisherStatus[] = [];
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #heard = Promise.withResolvers<void>();

  constructor(directory: string, kafka: KafkaOptions, environment: Readonly<Record<string, string>> = {}) {
    this.#process = spawn(process.execPath, [PROGRAM, directory, JSON.stringify(kafka)], {
      env: { PATH: process.env.PATH, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#ended = once(this.#process, 'close');
    createInterface({ input: this.#process.stdout! }).on('line', (line) => {
      this.changes.push(JSON.parse(line));
      this.#heard.resolve();
      this.#heard = Promise.withResolvers();
    });
  }

  /** Resolves once one of its changes, from the given one on, is as wanted. */
  async until(wanted: (change: PublisherStatus) => boolean, from = 0): Promise<PublisherStatus> {
    for (;;) {
      const found = this.changes.slice(from).find(wanted);
      if (found !== undefined) return found;
      if (this.#process.exitCode !== null) throw new Error(`it ended after ${JSON.stringify(this.changes)}`);
      await Promise.race([this.#heard.promise, this.#ended]);
    }
  }

  /** Sends a signal: SIGSTOP freezes it, SIGCONT wakes it. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }

  /** Asks it to stop, and waits until it has. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGTERM');
    await this.#ended;
  }
}
