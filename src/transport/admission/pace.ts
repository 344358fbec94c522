/** Microseconds of CPU that a turn of the event loop may take. */
const TARGET = 50_000;
/** Most requests of one turn, and least: however dear they are, some go on. */
const MOST = 1_024;
const LEAST = 64;
/** How much faster it may get from one turn to the next. */
const GROWTH = 1.25;

/**
 * How many requests are let in in one turn of the event loop: as many as keep turns short, so that whatever else the process does
 * (probes, the store's answers, connections) goes on under load, and requests do not wait unseen in the sockets. What counts is
 * the CPU that a turn takes, not the time: where others take the CPU away, to let in less would only leave them more of it.
 */
export class Pace {
  #cpu = process.threadCpuUsage();
  #allowed = MOST;
  #spent = 0;

  /** Whether another request may be let in in this turn. */
  get allows(): boolean {
    return this.#spent < this.#allowed;
  }

  /** One was let in. */
  spend(): void {
    this.#spent++;
  }

  /** A turn has ended. To be called by a timer. */
  turned(): void {
    const { user, system } = process.threadCpuUsage(this.#cpu);
    const factor = Math.min(TARGET / (user + system), GROWTH);
    this.#allowed = Math.min(Math.max(this.#allowed * factor, LEAST), MOST);
    this.#cpu = process.threadCpuUsage();
    this.#spent = 0;
  }
}
