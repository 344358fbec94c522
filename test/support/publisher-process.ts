import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { KafkaOptions } from '../../src/publisher/kafka/kafka-topic.ts';
import type { PublisherStatus } from '../../src/publisher/status.ts';
import { freeze } from './freeze.ts';
import { spawnTied } from './tied.ts';

const PROGRAM = join(import.meta.dirname, 'publisher-program.ts');

/** A publishing instance in its own process. */
export class PublisherProcess implements AsyncDisposable {
  /** Every change of its status, in order. */
  readonly changes: PublisherStatus[] = [];
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #heard = Promise.withResolvers<void>();

  constructor(directory: string, kafka: KafkaOptions, environment: Readonly<Record<string, string>> = {}) {
    this.#process = spawnTied([PROGRAM, directory, JSON.stringify(kafka)], environment, 'pipe', 'inherit');
    this.#ended = once(this.#process, 'close');
    createInterface({ input: this.#process.stdout! }).on('line', (line) => {
      this.changes.push(JSON.parse(line));
      this.#heard.resolve();
      this.#heard = Promise.withResolvers();
    });
  }

  /** Resolves when a change, from the given index on, matches. */
  async until(wanted: (change: PublisherStatus) => boolean, from = 0): Promise<PublisherStatus> {
    for (;;) {
      const found = this.changes.slice(from).find(wanted);
      if (found !== undefined) return found;
      if (this.#process.exitCode !== null) throw new Error(`it ended after ${JSON.stringify(this.changes)}`);
      await Promise.race([this.#heard.promise, this.#ended]);
    }
  }

  /** Freezes it. Resolves when it stands still. */
  freeze(): Promise<void> {
    return freeze(this.#process);
  }

  /** Sends a signal: SIGSTOP freezes it, SIGCONT wakes it. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Kills it, like a power failure. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }

  /** Stops it gracefully, and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGTERM');
    await this.#ended;
  }
}
