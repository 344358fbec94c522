import type { KeptCheckpoint, SignedCheckpoint } from '../../../src/transparency/signed-checkpoint.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** What instances keep of the checkpoints that they sign. It outlives them, and several may share it. */
export class Disk {
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #kept: SignedCheckpoint | undefined;

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  /** The disk as a process has it. */
  from(process: Process): KeptCheckpoint {
    return {
      read: () => this.#call(process, () => this.#kept),
      replace: (next, extended) =>
        this.#call(process, () => {
          const isCompared = this.#kept?.note === extended?.note || this.#kept!.size < (extended?.size ?? 0);
          if (!isCompared) return this.#kept;
          this.#kept = next;
          return undefined;
        }),
    };
  }

  #call<T>(process: Process, work: () => T): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const time = () => this.#random.scaled(0.05, 50);
    this.#scheduler.after(time(), process, () => {
      const result = work();
      this.#scheduler.after(time(), process, () => resolve(result));
    });
    return promise;
  }
}
