import { KeyObject } from 'node:crypto';
import type { CryptoKey, JWSHeaderParameters } from 'jose';
import { unlessAborted } from '../time/pause.ts';
import type { KeySet } from './keys/jwks.ts';
import { Refusal } from './refusal.ts';

/** Milliseconds between two checks of a stream's token, also while the stream is idle. */
const CHECK_INTERVAL = 500;

/** The validity of a verified token, shared by all calls with it. Streams check it repeatedly. */
export interface Validity {
  /** Expiry in milliseconds since 1970, exclusive. */
  readonly until: number;
  /** True if the token is certainly valid now. If false, call `confirm`. Cheap enough to read for each message. */
  readonly holds: boolean;
  /** Resolves if the token is valid now. Otherwise rejects with the Refusal: expired, key removed, or no keys. */
  confirm(): Promise<void>;
}

/** How a token was verified. */
export interface Verification {
  /** Milliseconds since 1970, exclusive. */
  readonly until: number;
  /** Revision of the keys before the verification, so that no later removal of a key is missed. */
  readonly revision: number | undefined;
  readonly header: JWSHeaderParameters;
  readonly key: CryptoKey;
}

/**
 * The validity of a token according to its key set. It does not keep the token: after a key leaves the set, the token
 * stays valid if its header still selects the key that verified its signature.
 */
export class TokenValidity implements Validity {
  readonly until: number;
  readonly #keys: KeySet;
  readonly #header: JWSHeaderParameters;
  readonly #key: CryptoKey;
  #revision: number | undefined;
  #confirming: Promise<void> | undefined;

  constructor(keys: KeySet, { until, revision, header, key }: Verification) {
    this.until = until;
    this.#keys = keys;
    // What selects a key: a header may have kilobytes of certificates.
    this.#header = { alg: header.alg!, ...(header.kid !== undefined && { kid: header.kid }) };
    this.#key = key;
    this.#revision = revision;
  }

  get holds(): boolean {
    return this.#revision !== undefined && this.#revision === this.#keys.revision && Date.now() < this.until;
  }

  /** Concurrent calls share one check: each would wait for the issuer's keys. */
  confirm(): Promise<void> {
    this.#confirming ??= this.#confirm().finally(() => {
      this.#confirming = undefined;
    });
    return this.#confirming;
  }

  async #confirm(): Promise<void> {
    if (Date.now() >= this.until) throw new Refusal('expired');
    if (this.holds) return;
    const { revision } = this.#keys;
    const key = await this.#keys.find(this.#header).catch((thrown) => {
      throw thrown instanceof Refusal ? thrown : new Refusal('unknown_key');
    });
    if (!KeyObject.from(key).equals(KeyObject.from(this.#key))) throw new Refusal('unknown_key');
    this.#revision = revision;
  }
}

/**
 * The items of a source while a token is valid. Afterwards it rejects with the Refusal, at the next item or within half
 * a second, even if the source ignores its signal, which then aborts with the Refusal, too. It never ends as if it were
 * complete. Opens the source with the first item: an unread stream has nothing to end. `given` ends it in the same way,
 * with its reason: whoever has left hears of no error of the source.
 */
export async function* whileValid<Item>(
  validity: Validity,
  open: (signal: AbortSignal) => AsyncIterable<Item>,
  given?: AbortSignal,
): AsyncGenerator<Item, undefined> {
  const end = new AbortController();
  const signal = given === undefined ? end.signal : AbortSignal.any([given, end.signal]);
  const check = async () => {
    if (!validity.holds) await validity.confirm().catch((refusal) => end.abort(refusal));
  };
  const source = open(signal)[Symbol.asyncIterator]();
  const timer = setInterval(check, CHECK_INTERVAL).unref();
  try {
    for (;;) {
      const step = await unlessAborted(source.next(), signal);
      if (step.done !== true) await check();
      signal.throwIfAborted();
      if (step.done === true) return undefined;
      yield step.value;
    }
  } finally {
    clearInterval(timer);
    // Not awaited, because the source may be slow to end.
    void source.return?.().catch(() => {});
  }
}
