import { Gate } from './gate.ts';

/** How a task ended. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** Work that goes on beside all else, one call at a time, as far as it is let. */
export class Task<T = unknown> {
  readonly gate: Gate;
  readonly #settled: Promise<void>;
  #outcome: Outcome<T> | undefined;

  private constructor(work: (gate: Gate) => Promise<T>) {
    this.gate = new Gate();
    this.#settled = work(this.gate).then(
      (value) => {
        this.#outcome = { value };
      },
      (error: unknown) => {
        this.#outcome = { error };
      },
    );
  }

  /** Begins, and resolves when it waits at the gate for the first time, or has ended. */
  static async begin<T>(work: (gate: Gate) => Promise<T>): Promise<Task<T>> {
    const task = new Task(work);
    await task.#rest();
    return task;
  }

  /** Undefined while it goes on. */
  get outcome(): Outcome<T> | undefined {
    return this.#outcome;
  }

  /** Lets so many calls through. Resolves when it waits again, or has ended. */
  async step(calls: number): Promise<void> {
    for (; calls > 0 && this.#outcome === undefined; calls--) {
      this.gate.letThrough();
      await this.#rest();
    }
  }

  /** Lets it go to its end. */
  async finish(): Promise<void> {
    this.gate.open();
    await this.#settled;
  }

  /** Kills it at the call that waits: before the call is made, or when it is done. */
  async kill(done: boolean): Promise<void> {
    this.gate.kill(done);
    await this.#settled;
  }

  async #rest(): Promise<void> {
    // A call that was let through needs a turn to leave the gate.
    await Promise.race([this.gate.arrival(), this.#settled]);
  }
}
