import { createAuthenticator } from '../../src/auth/authenticator.ts';
import { type KeySetTiming, RemoteKeySet } from '../../src/auth/keys/jwks.ts';
import { Refusal, type Why } from '../../src/auth/refusal.ts';
import type { Issuer } from './issuer.ts';

/** A pause longer than any test. */
export const FOR_EVER = 1_000_000_000;

/** Timing with no fetch but the first. */
export const ONCE: KeySetTiming = {
  refresh: FOR_EVER,
  cooldown: FOR_EVER,
  pause: FOR_EVER,
  maxPause: FOR_EVER,
  timeout: FOR_EVER,
};

/** Options of the authenticator. */
export interface AuthenticationOptions {
  readonly timing?: Partial<KeySetTiming>;
  /** Seconds. */
  readonly maxStale?: number;
  readonly ownerClaim?: string;
  readonly cacheSize?: number;
}

/**
 * An authenticator that trusts the issuer, with everything that can be observed of it. Durations default to forever.
 */
export function trust(issuer: Issuer, options: AuthenticationOptions = {}) {
  const { timing, maxStale = FOR_EVER, ownerClaim = 'sub', cacheSize = 1_000 } = options;
  const decisions: (Why | undefined)[] = [];
  const fetches: (Error | undefined)[] = [];
  const keys = new RemoteKeySet({
    url: issuer.jwksUrl,
    maxStale,
    onFetch: (failure) => fetches.push(failure),
    timing: { ...ONCE, ...timing },
  });
  const authenticator = createAuthenticator({
    keys,
    issuer: issuer.issuer,
    audience: issuer.audience,
    ownerClaim,
    cacheSize,
    onDecision: (decision) => decisions.push(decision),
  });
  return {
    keys,
    authenticator,
    /** Every decision so far, in order: why a token was refused, or undefined. */
    decisions,
    /** The failure, or undefined, of every fetch that has ended. */
    fetches,
    /** The refusal of a token, or undefined if it is accepted. */
    async judge(token: string): Promise<Refusal | undefined> {
      try {
        await authenticator.authenticate(`Bearer ${token}`);
        return undefined;
      } catch (thrown) {
        if (thrown instanceof Refusal) return thrown;
        throw thrown;
      }
    },
    [Symbol.dispose]() {
      keys.close();
    },
  };
}
