import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { cpuOf } from '../server.ts';
import type { Arrivals, ArrivalsJob, Done, Job } from './job.ts';

/** What a job did, and how busy making the load was: at 1 the rate is the client's limit rather than the server's. */
export interface Loaded extends Done {
  /** Share of one core. */
  readonly client: number;
}

/** Makes load in a process of its own, so that nothing else delays the requests. */
export class LoadGenerator {
  readonly #process: ChildProcess = fork(join(import.meta.dirname, 'process.ts'), { serialization: 'advanced' });

  /** The process. */
  get pid(): number {
    return this.#process.pid!;
  }

  /** Runs a job; one at a time. Rejects when any reply was wrong. */
  async run(job: Job): Promise<Loaded> {
    const [before, start] = [cpuOf(this.pid), performance.now()];
    const done = await this.#ask<Done>(job);
    return { ...done, client: (cpuOf(this.pid) - before) / 1_000 / (performance.now() - start) };
  }

  /** Lets requests arrive; while no job runs. Rejects at an answer that is neither 200 nor 503. */
  arrive(job: ArrivalsJob): Promise<Arrivals> {
    return this.#ask(job);
  }

  async #ask<Answer>(job: Job | ArrivalsJob): Promise<Answer> {
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
