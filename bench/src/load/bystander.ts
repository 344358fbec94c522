import { JobProcess } from './job-process.ts';
import type { Quantiles } from './sample.ts';

/**
 * What is asked for: a list, as a caller does on its open connection; the state of the service, as supervisors do, on a
 * new connection each time. `idle` is a server that does nothing else: what it takes is the client's own lateness.
 */
export type Kind = 'list' | 'readyz' | 'Health/Check' | 'idle';

/** Asks for some kinds of things, for each ten times a second. */
export interface BystanderJob<Asks extends Kind = Kind> {
  readonly kinds: readonly Asks[];
  readonly url: string;
  readonly adminUrl: string;
  /** Host and port. */
  readonly grpcAddress: string;
  readonly idleUrl: string;
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
export interface Seen<Asks extends Kind = Kind> {
  readonly asked: Readonly<Record<Asks, Asked>>;
  /** How late the requests were sent, in milliseconds. */
  readonly lateness: Quantiles;
}

/** Somebody who has nothing to do with an attack, in a process of its own. */
export class Bystander<Asks extends Kind> extends JobProcess<BystanderJob<Asks>> {
  readonly #kinds: readonly Asks[];

  /** Asks for these. */
  constructor(...kinds: readonly Asks[]) {
    super('bystander-process.ts');
    this.#kinds = kinds;
  }

  /** Asks for so many seconds. */
  watch(job: Omit<BystanderJob, 'kinds'>): Promise<Seen<Asks>> {
    return this.ask({ ...job, kinds: this.#kinds });
  }
}
