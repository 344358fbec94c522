import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from './server.ts';

/** What a run starts and makes, all of it stopped and removed at its end. */
export class Bench implements AsyncDisposable {
  readonly #opened = new AsyncDisposableStack();

  /** A new temporary directory. */
  directory(): string {
    const directory = mkdtempSync(join(tmpdir(), 'plantstore-bench-'));
    this.#opened.defer(() => rmSync(directory, { recursive: true, force: true }));
    return directory;
  }

  /** A server that is being started. */
  async server<Started extends Pick<Server, 'stop'>>(start: Promise<Started>): Promise<Started> {
    const started = await start;
    this.#opened.defer(() => started.stop());
    return started;
  }

  /** Anything else that has to be ended. */
  defer(end: () => unknown): void {
    this.#opened.defer(async () => {
      await end();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }
}
