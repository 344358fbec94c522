import { EMPTY_HEAD, type Head, type LoggedEvent } from '../log/event.ts';
import type { Check, Failure } from './check.ts';

/** Does the log extend a head that was signed earlier: does it hold that very hash at that position? */
export class SignedHeadCheck implements Check {
  readonly question = 'signed_head';
  failure: Failure | undefined;
  readonly #signed: Head;
  #found: Uint8Array | undefined;

  constructor(signed: Head) {
    this.#signed = signed;
    if (signed.position === 0) this.#found = EMPTY_HEAD.hash;
  }

  take(events: readonly LoggedEvent[]): void {
    this.#found ??= events.find(({ position }) => position === this.#signed.position)?.hash;
  }

  finish(): void {
    const { position, hash } = this.#signed;
    if (this.#found === undefined) this.failure = { position, message: 'missing, yet a head was signed there' };
    else if (Buffer.compare(this.#found, hash) !== 0)
      this.failure = {
        position,
        message: 'its hash is not the one that was signed: the log was rewritten here or before',
      };
  }
}
