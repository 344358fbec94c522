import { JobProcess } from './job-process.ts';
import type { Quantiles } from './sample.ts';

/** Asks for a list as a caller does, and for the state of the service as its supervisor does, each ten times a second. */
export interface BystanderJob {
  readonly url: string;
  readonly adminUrl: string;
  /** Host and port. */
  readonly grpcAddress: string;
  readonly token: string;
  readonly seconds: number;
}

/** What became of the requests of one kind. */
export interface Asked {
  /** The part of them that was answered with success within 5 s. */
  readonly served: number;
  /** From when a request was due to the end of its answer, in milliseconds. One that failed counts as 5 s. */
  readonly latency: Quantiles;
  /** How often those that failed got what. */
  readonly failures: Readonly<Record<string, number>>;
}

/** What a bystander of an attack saw. */
export interface Seen {
  readonly list: Asked;
  /** By the name of the probe. */
  readonly probes: Readonly<Record<string, Asked>>;
  /** How late the requests were sent, in milliseconds. */
  readonly lateness: Quantiles;
}

/** Somebody who has nothing to do with an attack, in a process of its own. */
export class Bystander extends JobProcess<BystanderJob> {
  constructor() {
    super('bystander-process.ts');
  }

  /** Asks for so many seconds. */
  watch(job: BystanderJob): Promise<Seen> {
    return this.ask(job);
  }
}
