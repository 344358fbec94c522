import {
  type CryptoKey,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type FlattenedJWSInput,
  type JWK,
  type JWSHeaderParameters,
  type RemoteJWKSet,
} from 'jose';
import { Refusal } from '../refusal.ts';
import type { KeySet, KeysReadiness } from './key-set.ts';
import { Refresher, type RefreshTiming } from './refresher.ts';

/** Durations of a remote key set, in milliseconds. */
export interface KeySetTiming extends RefreshTiming {
  /** Limit for a whole fetch. */
  readonly timeout: number;
}

// While the issuer answers, a revoked key stays valid for at most `refresh`, and a new key is unknown for at most
// `cooldown`.
const TIMING: KeySetTiming = { refresh: 300_000, cooldown: 10_000, pause: 1_000, maxPause: 30_000, timeout: 5_000 };

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
 * The published keys of an issuer (RFC 7517). jose fetches, selects and imports them. This class decides when to fetch,
 * so that an issuer that is down, slow or hostile neither stops the service nor is flooded: at the start, then in the
 * background, and when a token names an unknown key. If the issuer fails, keys stay usable for `maxStale`.
 */
export class RemoteKeySet implements KeySet {
  readonly #remote: RemoteJWKSet;
  readonly #refresher: Refresher;
  readonly #closing = new AbortController();
  readonly #lifetime: number;
  #published = new Set<string>();
  #revision = 0;
  #usableUntil = 0;

  /** Starts the first fetch without waiting for it. */
  constructor({ url, maxStale, onFetch, timing }: RemoteKeySetOptions) {
    const times = { ...TIMING, ...timing };
    this.#lifetime = times.refresh + times.timeout + maxStale * 1000;
    this.#remote = createRemoteJWKSet(url, {
      timeoutDuration: times.timeout,
      // Disables refetching in jose.
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
    // An unreachable issuer may have published the key meanwhile, so only a successful fetch can prove that it does not
    // exist.
    const fetched = await this.#refresher.request();
    if (!fetched || !this.#usable)
      throw new Refusal('issuer_unavailable', {}, { retryAfter: this.#refresher.retryAfter });
    return this.#remote(header, token);
  }

  ready(): KeysReadiness {
    const { failure, retryAfter } = this.#refresher;
    const problem = failure && `${describe(failure)}; next attempt in ${retryAfter} s`;
    if (!this.#usable)
      return { ready: false, detail: `no keys of the issuer: ${problem ?? 'the first fetch is under way'}` };
    return { ready: true, detail: problem ? `using old keys of the issuer: ${problem}` : 'keys of the issuer' };
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

// The error of fetch says only that it failed; its cause says why. That of a time-out has a number, which says nothing.
function describe({ message, cause }: Error): string {
  const code: unknown = (cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' ? `${message} (${code})` : message;
}

/** Most bytes of a key set. Real ones have a few thousand. */
const MAX_JWKS_BYTES = 1024 * 1024;

const SIGNING_KEY_TYPES = new Set(['RSA', 'EC', 'OKP']);

/**
 * A fetch for jose that tolerates a faulty issuer. Accepts only status 200, so it follows no redirects. Reads at most
 * MAX_JWKS_BYTES. A response without a signing key is an error, because otherwise every token would seem forged. Aborts
 * when `closing` does.
 */
export const boundedFetch =
  (closing: AbortSignal): FetchImplementation =>
  async (url, init) => {
    const response = await fetch(url, { ...init, signal: AbortSignal.any([init.signal, closing]) });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`the issuer answered ${response.status}`);
    }
    const keySet = parse(await readBounded(response));
    if (!keySet?.keys?.some?.(isSigningKey)) throw new Error('the answer of the issuer has no signing key');
    return Response.json(keySet);
  };

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body and closes the connection.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_JWKS_BYTES) throw new Error(`the issuer answered with more than ${MAX_JWKS_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): { keys?: Partial<JWK>[] } | null {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the answer of the issuer is not JSON');
  }
}

const isSigningKey = (key: Partial<JWK> | null): boolean =>
  typeof key?.kty === 'string' && SIGNING_KEY_TYPES.has(key.kty) && key.use !== 'enc';
