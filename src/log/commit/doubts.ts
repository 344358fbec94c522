import { clearTimer, monotonic, setTimer, type Timer } from '../../time/host.ts';

/**
 * Which of the last events this instance appended itself. It ends the doubts about a command that went to another
 * instance, on both sides: an append meets a taken position if another instance has appended in between.
 */
export class OwnAppends {
  /** The tail's end after the last append here. Events beyond it came from other instances. */
  #ownHead = -1;
  /** Every event after this position is from this instance. */
  #foreignUpTo = -1;
  /** Position of the last event that was appended here. */
  #landedUpTo = -1;

  /** Takes note of the tail's end. Call it before each decision. */
  saw(head: number): void {
    if (head !== this.#ownHead) this.#foreignUpTo = head;
  }

  /** Takes note of an append here after a position, of which so many events landed. */
  appended(after: number, landed: number): void {
    this.#ownHead = after + landed;
    if (landed > 0) this.#landedUpTo = this.#ownHead;
  }

  /** Whether another instance may have appended after a position, up to the end that was seen last. */
  othersAfter(position: number): boolean {
    return position < this.#foreignUpTo;
  }

  /** Whether an event was appended here after a position. */
  ownAfter(position: number): boolean {
    return position < this.#landedUpTo;
  }
}

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
