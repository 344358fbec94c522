import {
  type CryptoKey,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
  type RemoteJWKSet,
} from 'jose';
import { Refusal } from '../refusal.ts';
import { boundedFetch } from './jwks-fetch.ts';
import type { KeySet, KeysReadiness } from './key-set.ts';
import { Refresher, type RefreshTiming } from './refresher.ts';

/** Durations of a remote key set, in milliseconds. */
export interface KeySetTiming extends RefreshTiming {
  /** How long one fetch may take, to the last byte. */
  readonly timeout: number;
}

// While the issuer answers, a revoked key is good for `refresh` at most, and a new one unknown for `cooldown`.
const TIMING: KeySetTiming = { refresh: 300_000, cooldown: 10_000, pause: 1_000, maxPause: 30_000, timeout: 5_000 };

/** Where the keys are, and how long they last. */
export interface RemoteKeySetOptions {
  readonly url: URL;
  /** Seconds that keys are used for once they should have been fetched again and could not be (stale-if-error, RFC 5861). */
  readonly maxStale: number;
  /** Called after each fetch, with the error if it failed. */
  readonly onFetch?: (failure: Error | undefined) => void;
  readonly timing?: Partial<KeySetTiming>;
}

/**
 * The keys that an issuer publishes (RFC 7517), fetched, picked and imported by jose. When to fetch is decided here, so that
 * an issuer that is down, slow or hostile neither takes the service down nor is stormed by it: at start and then in the
 * background, and once more when a token names a key that the set lacks. Keys outlive a failing issuer by `maxStale`.
 */
export class RemoteKeySet implements KeySet {
  readonly #remote: RemoteJWKSet;
  readonly #refresher: Refresher;
  readonly #closing = new AbortController();
  readonly #lifetime: number;
  #published = new Set<string>();
  #revision = 0;
  #usableUntil = 0;

  /** Starts the first fetch and waits for nothing. */
  constructor({ url, maxStale, onFetch, timing }: RemoteKeySetOptions) {
    const times = { ...TIMING, ...timing };
    this.#lifetime = times.refresh + times.timeout + maxStale * 1000;
    this.#remote = createRemoteJWKSet(url, {
      timeoutDuration: times.timeout,
      // jose itself never fetches again.
      cacheMaxAge: Number.POSITIVE_INFINITY,
      cooldownDuration: Number.POSITIVE_INFINITY,
      [customFetch]: boundedFetch(this.#closing.signal),
    });
    this.#refresher = new Refresher(() => this.#fetch(), times, onFetch);
  }

  get revision(): number | undefined {
    return this.#usable ? this.#revision : undefined;
  }

  async find(header: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey> {
    if (this.#usable) {
      try {
        return await this.#remote(header, token);
      } catch (thrown) {
        if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown;
      }
    }
    // An issuer that does not answer may well have published the key by now, so only a good fetch can say that there is none.
    const fetched = await this.#refresher.request();
    if (!fetched || !this.#usable)
      throw new Refusal('issuer_unavailable', {}, { retryAfter: this.#refresher.retryAfter });
    return this.#remote(header, token);
  }

  ready(): KeysReadiness {
    const { failure, retryAfter } = this.#refresher;
    const problem = failure && `${describe(failure)}; next attempt in ${retryAfter} s`;
    if (!this.#usable) return { ready: false, detail: `no keys of the issuer: ${problem ?? 'they are being fetched'}` };
    return { ready: true, detail: problem ? `old keys of the issuer: ${problem}` : 'keys of the issuer' };
  }

  close(): void {
    this.#refresher.close();
    this.#closing.abort(new Error('the service stops'));
  }

  get #usable(): boolean {
    return performance.now() < this.#usableUntil;
  }

  async #fetch(): Promise<void> {
    await this.#remote.reload();
    const published = new Set(this.#remote.jwks()?.keys.map((key) => JSON.stringify(key)));
    if (!this.#published.values().every((key) => published.has(key))) this.#revision += 1;
    this.#published = published;
    this.#usableUntil = performance.now() + this.#lifetime;
  }
}

// What fetch throws says only that it failed; its cause says why.
function describe({ message, cause }: Error): string {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return code === undefined ? message : `${message} (${code})`;
}
