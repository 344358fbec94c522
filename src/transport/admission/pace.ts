/** Microseconds of CPU that a turn of the event loop may take. */
const TARGET = 50_000;
/** Most and fewest requests in one turn: however expensive they are, some continue. */
const MOST = 1_024;
const LEAST = 64;
/** Most growth of the number of requests from one turn to the next, as a factor. */
const GROWTH = 1.25;

/**
 * Bounds the requests admitted in one turn of the event loop so that turns stay short. Then the rest of the process
 * (probes, the store's answers, connections) continues under load, and requests do not wait unseen in the sockets. It
 * measures the CPU time of a turn, not its duration: when other processes take the CPU, admitting less would only leave
 * them more of it.
 */
export class Pace {
  #cpu = process.threadCpuUsage();
  #allowed = MOST;
  #spent = 0;

  /** Whether another request may be admitted in this turn. */
  get allows(): boolean {
    return this.#spent < this.#allowed;
  }

  /** Counts an admitted request. */
  spend(): void {
    this.#spent++;
  }

  /** Begins a turn after a time without any. */
  resumed(): void {
    this.#cpu = process.threadCpuUsage();
    this.#spent = 0;
  }

  /** Ends a turn. A timer calls it. */
  turned(): void {
    const { user, system } = process.threadCpuUsage(this.#cpu);
    const factor = Math.min(TARGET / (user + system), GROWTH);
    this.#allowed = Math.min(Math.max(this.#allowed * factor, LEAST), MOST);
    this.resumed();
  }
}
