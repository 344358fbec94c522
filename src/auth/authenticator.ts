import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { NOBODY, Semaphore } from '../semaphore.ts';
import type { KeySet } from './keys/jwks.ts';
import { type Principal, principalFrom } from './principal.ts';
import { Refusal, refusalFor, type Why } from './refusal.ts';
import { bearerToken, checkForm, createVerifier } from './verifier.ts';

/** Called with the decision on a token that was not cached: why it was refused. Undefined: it was accepted. */
export type OnDecision = (refused: Why | undefined) => void;

/** Tokens that are verified at once, and that wait for it. */
const MAX_VERIFICATIONS = 256;
const MAX_WAITING = 4_096;

/** What a token must satisfy, and who observes decisions. */
export interface AuthenticatorOptions {
  readonly keys: KeySet;
  /** Required value of `iss`. */
  readonly issuer: string;
  /** Value that `aud` must be or contain. */
  readonly audience: string;
  readonly ownerClaim: string;
  /** Most verified tokens to cache, and most forged ones to remember; default 10,000. */
  readonly cacheSize?: number;
  /** Milliseconds that a token may wait for its verification; default 500. */
  readonly maxWait?: number;
  /** Called for each refusal and each first acceptance of a token. */
  readonly onDecision?: OnDecision;
}

/** Most characters of a header that is remembered as it is, for as long as its connection is open. */
const MAX_KEPT_HEADER = 2_048;

/**
 * The caller, synchronously if the token is cached. Throws, or rejects with, a PlantStoreError: TOKEN_MISSING,
 * AUTHORIZATION_MALFORMED, TOKEN_INVALID (each with the challenge for WWW-Authenticate) or ISSUER_UNAVAILABLE. A
 * transport that sees several Authorization headers must pass all of them, as a list or joined by a comma and a blank.
 * `connection`: where they came from, on which the same header mostly comes again.
 */
export type Authenticate = (
  authorization: string | readonly string[] | undefined,
  connection?: object,
) => Principal | Promise<Principal>;

/** Identifies callers by the Authorization header, for all transports. */
export interface Authenticator {
  readonly authenticate: Authenticate;
  /** Calls that the token cache admitted. */
  readonly cacheHits: number;

  /** Forgets all tokens, so that each is verified again. */
  forget(): void;
}

/** Most bytes of the tokens that are remembered, however long the names in them are. */
const CACHE_BYTES = 8 * 1024 * 1024;
const bytesOf = ({ owner, actor }: Principal): number => 512 + 2 * (owner.length + actor.length);

/** An authenticator for bearer tokens (RFC 6750): JWTs of one issuer. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { keys, issuer, audience, ownerClaim, cacheSize = 10_000, maxWait = 500, onDecision } = options;
  // Verified tokens, by digest. One that expires, or whose key leaves the key set, is verified again.
  const verified = new LRUCache<string, Principal>({ max: cacheSize, maxSize: CACHE_BYTES, sizeCalculation: bytesOf });
  let cacheHits = 0;
  // The last header of a connection. It is compared with the headers of the same connection alone: how long that takes
  // depends on the text.
  let shown = new WeakMap<object, { readonly authorization: string; readonly principal: Principal }>();
  // Tokens with a signature that is not of the key that they name, by digest, with the revision of the keys. Keys that
  // are added do not make such a token good.
  const forged = new LRUCache<string, number>({ max: cacheSize });
  const verifications = new Semaphore({ permits: MAX_VERIFICATIONS, maxWait, maxWaiting: MAX_WAITING });
  const verify = createVerifier(keys, issuer, audience, () => verifications.acquire(NOBODY));

  async function judge(token: string, id: string): Promise<Principal> {
    const { revision } = keys;
    try {
      const { claims, validity } = await verify(token);
      const principal = principalFrom(claims, issuer, ownerClaim, validity);
      verified.set(id, principal);
      onDecision?.(undefined);
      return principal;
    } catch (thrown) {
      if (revision !== undefined && thrown instanceof Refusal && thrown.why === 'signature') forged.set(id, revision);
      throw report(thrown);
    }
  }

  function report(thrown: unknown): unknown {
    if (thrown instanceof Refusal) onDecision?.(thrown.why);
    return thrown;
  }

  return {
    get cacheHits() {
      return cacheHits;
    },
    forget() {
      verified.clear();
      forged.clear();
      shown = new WeakMap();
    },
    authenticate(authorization, connection) {
      const last = connection && shown.get(connection);
      if (last !== undefined && last.authorization === authorization && last.principal.validity.holds) {
        cacheHits++;
        return last.principal;
      }
      try {
        const token = bearerToken(authorization);
        const id = digest(token);
        const known = verified.get(id);
        if (known?.validity.holds) {
          cacheHits++;
          if (connection !== undefined && typeof authorization === 'string' && authorization.length <= MAX_KEPT_HEADER)
            shown.set(connection, { authorization, principal: known });
          return known;
        }
        const revision = forged.get(id);
        if (revision !== undefined && revision === keys.revision) throw refusalFor('signature');
        // What is no JWT at all is refused at once: a rejected promise costs more than the refusal.
        checkForm(token);
        return judge(token, id);
      } catch (thrown) {
        throw report(thrown);
      }
    },
  };
}

/** What a token is remembered by beyond its connection: its SHA-256, so that no token can be read back. */
const digest = (token: string): string => hash('sha256', token);
