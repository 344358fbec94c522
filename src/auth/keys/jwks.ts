import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWK,
  type JWSHeaderParameters,
} from 'jose';
import { boundedText } from '../../bounded-text.ts';
import { Backoff } from '../../time/backoff.ts';
import { Refusal } from '../refusal.ts';

/** The public keys of the token issuer. */
export interface KeySet {
  /** Increases when a key leaves the set, which ends earlier verifications. Undefined while no key is usable. */
  readonly revision: number | undefined;

  /** The key that a header names. Rejects with JOSEError if there is none, `issuer_unavailable` if that is unknown. */
  find(header: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey>;

  /** Whether there are keys to verify tokens with, and a line for the operator. */
  ready(): { readonly ready: boolean; readonly detail: string };

  close(): void;
}

/** Durations of a remote key set, in milliseconds. */
export interface KeySetTiming {
  /** From a successful fetch to the next one. */
  readonly refresh: number;
  /** After a successful fetch, how long an unknown key causes no other. */
  readonly cooldown: number;
  /** After a failed fetch, the pause before the next. It doubles with each further failure, up to `maxPause`. */
  readonly pause: number;
  readonly maxPause: number;
  /** Limit for a whole fetch. */
  readonly timeout: number;
}

// While the issuer answers, a revoked key stays valid for at most `refresh`, and a new key is unknown for at most
// `cooldown`.
const TIMING: KeySetTiming = { refresh: 300_000, cooldown: 10_000, pause: 1_000, maxPause: 30_000, timeout: 5_000 };

// Most callers that wait for one fetch, so that no client can fill an unbounded queue.
const MAX_WAITING = 1_000;

/** The members by which a key is selected and told from others. Issuers may order them otherwise in each answer. */
const SELECTING = ['kty', 'kid', 'use', 'key_ops', 'alg', 'crv', 'x', 'y', 'n', 'e'];

/** Where the keys are, and how long they stay usable. */
export interface RemoteKeySetOptions {
  readonly url: URL;
  /** Seconds for which keys stay usable after a refresh fails (stale-if-error, RFC 5861). */
  readonly maxStale: number;
  /** Called after each fetch, with the error if it failed. */
  readonly onFetch?: (failure: Error | undefined) => void;
  readonly timing?: Partial<KeySetTiming>;
}

/**
 * The published keys of an issuer (RFC 7517). jose selects and imports them. This class decides when to fetch, so that
 * an issuer that is down, slow or hostile neither stops the service nor is flooded: at the start, then in the
 * background, and when a token names an unknown key. Fetches never overlap, and never follow each other without a
 * pause, whatever callers do. If the issuer fails, keys stay usable for `maxStale`.
 */
export class RemoteKeySet implements KeySet {
  readonly #options: RemoteKeySetOptions;
  readonly #timing: KeySetTiming;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  #find = createLocalJWKSet({ keys: [] });
  #published = new Set<string>();
  #revision = 0;
  #usableUntil = 0;
  /** The fetch under way, and the callers that wait for it. */
  #fetching: Promise<void> | undefined;
  #waiting = 0;
  /** Why the last fetch failed, and when the next one may begin. */
  #failure: Error | undefined;
  #notBefore = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Starts the first fetch. */
  constructor(options: RemoteKeySetOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#backoff = new Backoff(this.#timing.pause, this.#timing.maxPause);
    void this.#fetch();
  }

  get revision(): number | undefined {
    return this.#usable ? this.#revision : undefined;
  }

  async find(header: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey> {
    if (this.#usable) {
      try {
        return await this.#find(header, token);
      } catch (thrown) {
        if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown;
      }
    }
    // An unreachable issuer may have published the key meanwhile, so only a successful fetch can prove that it does not
    // exist.
    const isFresh = await this.#refreshed();
    if (!isFresh || !this.#usable) throw new Refusal('issuer_unavailable', undefined, { retryAfter: this.#retryAfter });
    return this.#find(header, token);
  }

  ready() {
    const problem = this.#failure && `${fetchFailure(this.#failure)}; next attempt in ${this.#retryAfter} s`;
    if (!this.#usable)
      return { ready: false, detail: `no keys of the issuer: ${problem ?? 'the first fetch is under way'}` };
    return { ready: true, detail: problem ? `using old keys of the issuer: ${problem}` : 'keys of the issuer' };
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#closing.abort(new Error('the service stops'));
  }

  get #usable(): boolean {
    return performance.now() < this.#usableUntil;
  }

  /** Whole seconds until the next possible fetch; at least 1. */
  get #retryAfter(): number {
    return Math.max(1, Math.ceil((this.#notBefore - performance.now()) / 1000));
  }

  /** Whether the last fetch succeeded, after the one under way or a due one. False if too many callers wait. */
  async #refreshed(): Promise<boolean> {
    if (this.#fetching !== undefined || performance.now() >= this.#notBefore) {
      if (this.#waiting === MAX_WAITING) return false;
      this.#waiting++;
      await this.#fetch();
      this.#waiting--;
    }
    return this.#failure === undefined;
  }

  /** Never rejects. */
  #fetch(): Promise<void> {
    const { timeout, refresh, cooldown } = this.#timing;
    this.#fetching ??= fetchKeys(this.#options.url, timeout, this.#closing.signal)
      .then((keySet) => {
        this.#take(keySet);
        this.#backoff.reset();
        this.#ended(undefined, cooldown, refresh);
      })
      .catch((failure: Error) => {
        const rest = this.#backoff.next();
        this.#ended(failure, rest, rest);
      });
    return this.#fetching;
  }

  #take(keySet: JSONWebKeySet): void {
    this.#find = createLocalJWKSet(keySet);
    const published = new Set(keySet.keys.map((key) => JSON.stringify(key, SELECTING)));
    if (!this.#published.values().every((key) => published.has(key))) this.#revision += 1;
    this.#published = published;
    const { refresh, timeout } = this.#timing;
    this.#usableUntil = performance.now() + refresh + timeout + this.#options.maxStale * 1000;
  }

  /** Rests for some milliseconds, in which no caller causes another fetch, and begins the next one by itself. */
  #ended(failure: Error | undefined, rest: number, next: number): void {
    this.#fetching = undefined;
    this.#failure = failure;
    this.#notBefore = performance.now() + rest;
    if (this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fetch(), next).unref();
    this.#options.onFetch?.(failure);
  }
}

/** Why a fetch failed. The reason is in the cause of its error. */
export function fetchFailure({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message;
  const { code, message: why } = cause as NodeJS.ErrnoException;
  return `${message} (${code ?? why})`;
}

/** Most bytes of a key set. Real ones have a few thousand. */
const MAX_JWKS_BYTES = 1024 * 1024;

/** The algorithms of tokens, by the type and curve of their keys (RFC 7518, RFC 8037, RFC 9864). */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['RS256', 'PS256'],
  'EC P-256': ['ES256'],
  'OKP Ed25519': ['EdDSA', 'Ed25519'],
};

/** Characters of the modulus of an RSA key of 2,048 bits, the shortest that is taken (RFC 7518, section 3.3). */
const MIN_MODULUS_LENGTH = 342;

/**
 * Fetches the keys of an issuer, which may be faulty. Accepts only status 200, so it follows no redirects, and at most
 * MAX_JWKS_BYTES. An answer without a key that can verify a token is an error, because otherwise every token would seem
 * forged. Rejects after `timeout` milliseconds, and when `closing` aborts.
 */
export async function fetchKeys(url: URL, timeout: number, closing?: AbortSignal): Promise<JSONWebKeySet> {
  const late = AbortSignal.timeout(timeout);
  const signal = closing === undefined ? late : AbortSignal.any([closing, late]);
  try {
    const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`the issuer answered ${response.status}`);
    }
    return keySetIn(await boundedText(response, MAX_JWKS_BYTES, 'the issuer'));
  } catch (error) {
    throw late.aborted ? new Error('the request timed out') : error;
  }
}

/** The keys of an answer. One that is there twice is one: tokens do not tell which they mean. */
function keySetIn(text: string): JSONWebKeySet {
  let keySet: { keys?: unknown } | null;
  try {
    keySet = JSON.parse(text);
  } catch {
    throw new Error('the answer of the issuer is not JSON');
  }
  const found: readonly unknown[] = Array.isArray(keySet?.keys) ? keySet.keys : [];
  const keys = found.filter((key): key is JWK => typeof key === 'object' && key !== null);
  if (!keys.some(canVerify))
    throw new Error('the answer of the issuer has no signing key for RS256, PS256, ES256 or EdDSA');
  return { keys: [...new Map(keys.map((key) => [JSON.stringify(key, SELECTING), key])).values()] };
}

/** Whether a key can verify a token. jose assumes that a key without a stated use can. */
export function canVerify({ kty, crv, alg, use = 'sig', key_ops = ['verify'], n, d }: JWK): boolean {
  const algorithms = ALGORITHMS[crv === undefined ? `${kty}` : `${kty} ${crv}`];
  if (algorithms === undefined || (alg !== undefined && !algorithms.includes(alg))) return false;
  if (use !== 'sig' || !Array.isArray(key_ops) || !key_ops.includes('verify') || d !== undefined) return false;
  return kty !== 'RSA' || (typeof n === 'string' && n.length >= MIN_MODULUS_LENGTH);
}
