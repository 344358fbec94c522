import { createAuthenticator, type Decision } from '../../src/auth/authenticator.ts';
import { type KeySetTiming, RemoteKeySet } from '../../src/auth/keys/jwks.ts';
import { Refusal } from '../../src/auth/refusal.ts';
import type { Issuer } from './issuer.ts';

/** A pause that no test lives to see the end of. */
export const FOR_EVER = 1_000_000_000;

/** No fetch but the first, whatever happens. */
export const ONCE: KeySetTiming = {
  refresh: FOR_EVER,
  cooldown: FOR_EVER,
  pause: FOR_EVER,
  maxPause: FOR_EVER,
  timeout: FOR_EVER,
};

/** What a test chooses. */
export interface AuthenticationOptions {
  readonly timing?: Partial<KeySetTiming>;
  /** Seconds. */
  readonly maxStale?: number;
  readonly ownerClaim?: string;
  readonly cacheSize?: number;
}

/** An authenticator that trusts the issuer, and all that can be seen of it. Durations that are not given are for ever. */
export function trust(issuer: Issuer, options: AuthenticationOptions = {}) {
  const { timing, maxStale = FOR_EVER, ownerClaim = 'sub', cacheSize = 1_000 } = options;
  const decisions: Decision[] = [];
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
    /** Every decision so far, in order. */
    decisions,
    /** The failure, or undefined, of every fetch that has ended. */
    fetches,
    /** The refusal that a token meets, or undefined when it is let in. */
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
