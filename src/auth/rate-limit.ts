import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { PlantStoreError } from '../domain/errors.ts';

/** Most owners to track: more than can be served within a second, after which an owner's budget is whole. */
const MAX_OWNERS = 65_536;
/** Longest name that is kept as it is. Of a longer one the digest is kept, so that all of them take 10 MB. */
const MAX_KEPT_NAME = 64;

/**
 * Limits the calls per second of each owner, with bursts of up to one second's budget. `Admission.verified` asks it for
 * each call with a verified token, whatever its method and protocol.
 *
 * Uses the generic cell rate algorithm: it stores one number per owner and, unlike fixed windows, never admits twice
 * the rate at the edge of a window.
 */
export class RateLimit {
  /** For each owner, the time at which its budget is whole again, in milliseconds of `performance.now()`. */
  readonly #whole = new LRUCache<string, number>({ max: MAX_OWNERS });
  readonly #interval: number;
  readonly #burst: number;

  constructor(perSecond: number) {
    this.#interval = 1_000 / perSecond;
    this.#burst = 1_000 - this.#interval;
  }

  /** Takes one call from an owner's budget. If it is exhausted, throws RATE_LIMITED and takes nothing. */
  take(name: string, now = performance.now()): void {
    const owner = name.length > MAX_KEPT_NAME ? hash('sha256', name, 'base64') : name;
    const whole = Math.max(this.#whole.get(owner) ?? 0, now);
    // A call whose budget is due exactly now must pass, whatever the rounding errors.
    if (whole - now > this.#burst + EPSILON) throw LIMITED;
    this.#whole.set(owner, whole + this.#interval);
  }
}

/** Milliseconds: far below any interval, far above the rounding error of sums of intervals. */
const EPSILON = 1e-4;

// Made once, it costs nothing a call. At any rate, the next call is due within a second.
const LIMITED = new PlantStoreError('RATE_LIMITED', 'rate limit exceeded; slow down and try again');
