import { clearTimer, monotonic, setTimer, type Timer } from '../../time/host.ts';
/**
 * Commands in doubt whose decision appends nothing: a refusal, or the answer of an earlier event with the same idempotency
 * key, whose owner may be erased meanwhile. Such a decision needs certainty that no other instance applies the command,
 * so they wait for the next append that lands here, or for the end of the first one's time.
 */
export class Parking<Parked extends { readonly deadline: number }> {
  readonly #parked: Parked[] = [];
  readonly #leave: (commands: Parked[]) => void;
  #timer: Timer | undefined;

  /** `leave` gets the commands that have waited, to be decided anew. */
  constructor(leave: (commands: Parked[]) => void) {
    this.#leave = leave;
  }

  /** Parks a command until `release`, at the latest until its deadline or that of a command parked before it. */
  park(command: Parked): void {
    this.#parked.push(command);
    this.#timer ??= setTimer(() => this.release(), Math.max(command.deadline - monotonic(), 1));
  }

  /** Lets all commands leave. */
  release(): void {
    const commands = this.clear();
    if (commands.length > 0) this.#leave(commands);
  }

  /** Takes all commands out. They do not leave. */
  clear(): Parked[] {
    clearTimer(this.#timer);
    this.#timer = undefined;
    return this.#parked.splice(0);
  }
}
