import { LRUCache } from 'lru-cache';
import { PlantStoreError } from '../domain/errors.ts';
import type { Authenticator } from './authenticator.ts';
import type { Principal } from './principal.ts';

/**
 * Owners that are tracked. An owner who paused for a second may be forgotten, as nothing is held against it any more: so many
 * cannot all have called within that second.
 */
const OWNERS = 65_536;

/**
 * Calls a second for each owner, evenly or in bursts of up to a second's worth, by the generic cell rate algorithm: one number
 * an owner, exact at any moment, with no window at whose edge twice as much gets through.
 */
export class RateLimit {
  /** When the budget of an owner will be whole again, in milliseconds of `performance.now()`. */
  readonly #whole = new LRUCache<string, number>({ max: OWNERS });
  readonly #interval: number;
  readonly #burst: number;

  constructor(perSecond: number) {
    this.#interval = 1_000 / perSecond;
    this.#burst = 1_000 - this.#interval;
  }

  /** Takes one call of an owner's budget. Throws RATE_LIMITED when there is none, and takes nothing then. */
  take(owner: string, now = performance.now()): void {
    const whole = Math.max(this.#whole.get(owner) ?? 0, now);
    // A budget that refills exactly now counts, whatever the rounding of the sums before it.
    if (whole - now > this.#burst + EPSILON) throw LIMITED;
    this.#whole.set(owner, whole + this.#interval);
  }
}

/** Milliseconds: far below any interval, far above what sums of intervals are off by. */
const EPSILON = 1e-4;

// One for all calls, as a stack trace for each costs more than the rest. At one call a second or more, one is due within a second.
const LIMITED = new PlantStoreError('RATE_LIMITED', 'too many requests of this owner; slow down and try again', {
  retryAfter: 1,
});

/** Lets in whom `authenticate` lets in, as often as the owner's budget allows; throws or rejects with RATE_LIMITED beyond. */
export function limitRate(
  authenticate: Authenticator['authenticate'],
  perSecond: number,
): Authenticator['authenticate'] {
  const limit = new RateLimit(perSecond);
  const take = (principal: Principal): Principal => {
    limit.take(principal.owner);
    return principal;
  };
  return (authorization) => {
    const principal = authenticate(authorization);
    return principal instanceof Promise ? principal.then(take) : take(principal);
  };
}
