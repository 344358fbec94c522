import { cpuOf } from '../server.ts';
import type { Arrivals, ArrivalsJob, Done, Job } from './job.ts';
import { JobProcess } from './job-process.ts';

/** What a job did, and how busy making the load was: at 1 the rate is the client's limit rather than the server's. */
export interface Loaded extends Done {
  /** Share of one core. */
  readonly client: number;
}

/** Makes load in a process of its own, so that nothing else delays the requests. */
export class LoadGenerator extends JobProcess<Job | ArrivalsJob> {
  constructor() {
    super('process.ts');
  }

  /** Runs a job; one at a time. Rejects when any reply was wrong. */
  async run(job: Job): Promise<Loaded> {
    const [before, start] = [cpuOf(this.pid), performance.now()];
    const done = await this.ask<Done>(job);
    return { ...done, client: (cpuOf(this.pid) - before) / 1_000 / (performance.now() - start) };
  }

  /** Lets requests arrive; while no job runs. Rejects at an answer that is neither 200 nor 503. */
  arrive(job: ArrivalsJob): Promise<Arrivals> {
    return this.ask(job);
  }
}
