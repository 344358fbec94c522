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
