import { BrokenChainError, headAt, verifyNext } from '../../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../../log/event/event.ts';
import type { Check, Failure } from './check.ts';

/**
 * Does every event continue the chain? Its hash must follow from its content and the previous hash, and its time must
 * not be earlier than the previous time.
 */
export class ChainCheck implements Check {
  readonly question = 'chain';
  failure: Failure | undefined;
  #head: Head = EMPTY_HEAD;

  take(events: readonly LoggedEvent[]): void {
    if (this.failure !== undefined) return;
    try {
      for (const event of events) {
        verifyNext(this.#head, event);
        this.#head = headAt(event);
      }
    } catch (error) {
      if (!(error instanceof BrokenChainError)) throw error;
      this.failure = { position: error.position, message: error.why };
    }
  }

  finish(): void {}
}
