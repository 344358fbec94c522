import type { Protocol } from '../../observe/request.ts';
import { CLIENT_LEFT, type Permit } from '../../semaphore.ts';
import type { Admission } from './admission.ts';

/** The permit of one request, or the wait for it. Either is given up at the latest when the request ends. */
export class RequestPermit {
  #held: Disposable | undefined;
  #isOver = false;

  /**
   * Takes a permit of an owner's share. Rejects with OVERLOADED or TOO_MANY_REQUESTS if there is none in time, and with
   * CLIENT_LEFT, at once or later, if the request is over.
   */
  take(admission: Admission, owner: string, protocol: Protocol): void | Promise<void> {
    if (this.#isOver) throw CLIENT_LEFT;
    const permit = admission.permit(owner, protocol, (waiting) => {
      this.#held = waiting;
    });
    if (permit instanceof Promise) return permit.then((granted) => this.#keep(granted));
    this.#held = permit;
  }

  /** Gives it back, although the request goes on. */
  release(): void {
    this.#held?.[Symbol.dispose]();
  }

  /** The request is over. */
  end(): void {
    this.release();
    this.#isOver = true;
  }

  #keep(granted: Permit): void {
    if (this.#isOver) {
      granted[Symbol.dispose]();
      throw CLIENT_LEFT;
    }
    this.#held = granted;
  }
}
