import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/**
 * A program of this folder in a process of its own. It does one job at a time, and answers with what was done or why
 * not.
 */
export class JobProcess<Job extends object> {
  readonly #process: ChildProcess;

  /** `program` is the name of a file of this folder. */
  constructor(program: string) {
    this.#process = fork(join(import.meta.dirname, program), { serialization: 'advanced' });
  }

  /** The process. */
  get pid(): number {
    return this.#process.pid!;
  }

  /** Has a job done. Rejects with what the program says of a failure. */
  async ask<Answer>(job: Job): Promise<Answer> {
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
