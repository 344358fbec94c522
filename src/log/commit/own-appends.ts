/**
 * Which of the last events this instance appended itself. It ends the doubts about a command that went to another
 * instance, on both sides: an append meets a taken position if another instance has appended in between.
 *
 * For example, events 5 to 7 were appended here, 8 by another instance, and 9 here. Before 9 is decided, events up to 8
 * may be another's. After it, the last own event is 9.
 */
export class OwnAppends {
  /** The tail's end after the last append here. Events beyond it came from other instances. -1: there was none. */
  #ownEnd = -1;
  /** The last position whose event may be from another instance. All after it are from this one. */
  #othersUpTo = -1;
  /** Position of the last event that was appended here. */
  #lastLanded = -1;

  /** Takes note of the tail's end. Call it before each decision. */
  saw(head: number): void {
    if (head !== this.#ownEnd) this.#othersUpTo = head;
  }

  /** Takes note of an append here after a position, of which so many events landed. */
  appended(after: number, landed: number): void {
    this.#ownEnd = after + landed;
    if (landed > 0) this.#lastLanded = this.#ownEnd;
  }

  /** Whether another instance may have appended after a position, up to the end that was seen last. */
  othersAfter(position: number): boolean {
    return position < this.#othersUpTo;
  }

  /** Whether an event was appended here after a position. */
  ownAfter(position: number): boolean {
    return position < this.#lastLanded;
  }
}
