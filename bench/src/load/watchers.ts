import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { OpenStreams, Probe, Probed, Received, WatchersJob } from './watching.ts';

/** Many who watch, in a process of their own, which does as little as can be done with what comes. */
export class Watchers {
  readonly #process: ChildProcess = fork(join(import.meta.dirname, 'watchers-process.ts'), {
    serialization: 'advanced',
  });

  /** The process. */
  get pid(): number {
    return this.#process.pid!;
  }

  /** Resolves when each of the streams has said that its state is whole. */
  open(job: Omit<OpenStreams, 'type'>): Promise<void> {
    return this.#ask({ type: 'open', ...job });
  }

  /** Rejects when a probe did not come to a stream that looks for it. */
  probe(job: Omit<Probe, 'type'>): Promise<Probed> {
    return this.#ask({ type: 'probe', ...job });
  }

  /** What has come, once nothing more comes. */
  received(): Promise<Received> {
    return this.#ask({ type: 'received' });
  }

  /** Leaves. */
  close(): Promise<void> {
    return this.#ask({ type: 'close' });
  }

  async #ask<Answer>(job: WatchersJob): Promise<Answer> {
    this.#process.send(job);
    const [answer] = (await once(this.#process, 'message')) as [{ done: Answer } | { error: string }];
    if ('error' in answer) throw new Error(answer.error);
    return answer.done;
  }

  /** Ends the process. */
  stop(): void {
    this.#process.disconnect();
  }
}
