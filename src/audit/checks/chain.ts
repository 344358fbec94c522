import { headAt, verifyNext } from '../../log/event/chain.ts';
import { EMPTY_HEAD, type Head, type LoggedEvent } from '../../log/event/event.ts';
import type { Check } from './check.ts';

/**
 * Does every event continue the chain? Its hash must follow from its content and the previous hash, and its time must
 * not be earlier than the previous time.
 */
export class ChainCheck implements Check {
  readonly question = 'chain';
  #head: Head = EMPTY_HEAD;

  take(events: readonly LoggedEvent[]): undefined {
    for (const event of events) {
      verifyNext(this.#head, event);
      this.#head = headAt(event);
    }
  }

  finish(): undefined {}
}
