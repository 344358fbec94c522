import { bearerToken, checkCharacters } from './bearer.ts';
import { principalFrom } from './claims.ts';
import type { KeySet } from './keys/key-set.ts';
import type { Principal } from './principal.ts';
import { Refusal, type Subject, type Why } from './refusal.ts';
import { TokenCache } from './token-cache.ts';
import { createVerifier } from './verifier.ts';

/** What was decided on a token that was not remembered, without the token. */
export interface Decision extends Subject {
  readonly outcome: 'accepted' | 'refused';
  /** Why it was refused. */
  readonly reason?: Why;
}

/** What makes a token good, and who wants to know of decisions. */
export interface AuthenticatorOptions {
  readonly keys: KeySet;
  /** What `iss` has to be. */
  readonly issuer: string;
  /** What `aud` has to be or hold. */
  readonly audience: string;
  /** Name of the claim that says whose plants the caller sees. */
  readonly ownerClaim: string;
  /** Most verified tokens to remember; 10,000 unless told. */
  readonly cacheSize?: number;
  /** Called for each refusal and each first acceptance of a token. Its values are text from outside: log them as data. */
  readonly onDecision?: (decision: Decision) => void;
}

/** Who calls, from the Authorization header: one for all transports. */
export interface Authenticator {
  /** How many calls were let in by a token that had been verified before. */
  readonly cacheHits: number;

  /** Remembers nobody any more: each token is verified again. */
  forget(): void;

  /**
   * The caller, at once when the token was verified before. Throws, or rejects with, a PlantStoreError: TOKEN_MISSING,
   * AUTHORIZATION_MALFORMED, TOKEN_INVALID (each with the challenge for WWW-Authenticate) or ISSUER_UNAVAILABLE.
   * A transport that can see several Authorization headers passes all of them.
   */
  authenticate(authorization: string | readonly string[] | undefined): Principal | Promise<Principal>;
}

/** An authenticator of bearer tokens (RFC 6750) that are JWTs signed by one issuer. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { keys, issuer, audience, ownerClaim, cacheSize = 10_000, onDecision } = options;
  const cache = new TokenCache(cacheSize);
  const verify = createVerifier(keys, issuer, audience);

  async function judge(token: string): Promise<Principal> {
    try {
      checkCharacters(token);
      const { claims, validity } = await verify(token);
      const principal = principalFrom(claims, issuer, ownerClaim, validity);
      cache.set(token, principal);
      onDecision?.({ outcome: 'accepted', issuer, subject: principal.actor });
      return principal;
    } catch (thrown) {
      throw report(thrown);
    }
  }

  function report(thrown: unknown): unknown {
    if (thrown instanceof Refusal) onDecision?.({ outcome: 'refused', reason: thrown.why, ...thrown.about });
    return thrown;
  }

  return {
    get cacheHits() {
      return cache.hits;
    },
    forget: () => cache.clear(),
    authenticate(authorization) {
      let token: string;
      try {
        token = bearerToken(authorization);
      } catch (thrown) {
        throw report(thrown);
      }
      return cache.get(token) ?? judge(token);
    },
  };
}
