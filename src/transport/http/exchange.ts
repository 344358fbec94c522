import type { ServerResponse } from 'node:http';
import { LEFT, type Permit } from '../../semaphore.ts';

/** A request that a connection serves, and its answer: from its headers until it is answered or its client has left. */
export class Exchange {
  readonly response: ServerResponse;
  /** Whether the request waited too long for its turn. */
  readonly isLate: boolean;
  /** Bytes of the answer that the client has not read, as far as the kernel has not taken them. */
  unread = 0;
  /** Bytes of the answer in memory that are not being sent yet. */
  rows = 0;
  /** Whether the answer lasts as long as its client likes. */
  isStream = false;
  /** Its permit, or its wait for one. */
  #permit: Disposable | undefined;
  #isOver = false;

  constructor(response: ServerResponse, isLate: boolean) {
    this.response = response;
    this.isLate = isLate;
  }

  /** Keeps a wait for a permit, and ends it with the exchange. */
  awaits(waiting: Disposable): void {
    this.#permit = waiting;
  }

  /** Keeps a permit until `release`. Throws LEFT, and gives it back, if the exchange is over. */
  keep(permit: Permit): void {
    if (this.#isOver) {
      permit[Symbol.dispose]();
      throw LEFT;
    }
    this.#permit = permit;
  }

  /** Gives the permit back. */
  release(): void {
    this.#permit?.[Symbol.dispose]();
    this.#permit = undefined;
  }

  /** The exchange is over. */
  end(): void {
    this.release();
    this.#isOver = true;
  }
}
