import { KeyObject } from 'node:crypto';
import type { CryptoKey, JWSHeaderParameters } from 'jose';
import type { KeySet } from './keys/key-set.ts';
import { Refusal } from './refusal.ts';

/** Until when a verified token counts. One for all calls with it: who only answers asks nothing, and who streams asks again. */
export interface Validity {
  /** Milliseconds since 1970, exclusive, at which it expires. */
  readonly until: number;
  /** Whether it certainly counts now. While it does not, `confirm` tells. Cheap enough to be asked for each message. */
  readonly holds: boolean;
  /** Resolves when it counts now. Rejects with the Refusal that ends it: expired, its key gone, or no keys to judge it by. */
  confirm(): Promise<void>;
}

/** What a token was verified with. */
export interface Verification {
  /** Milliseconds since 1970, exclusive. */
  readonly until: number;
  /** Of the keys, from before the token was verified, so that no later loss of a key is missed. */
  readonly revision: number | undefined;
  readonly header: JWSHeaderParameters;
  readonly key: CryptoKey;
}

/**
 * The validity of a token by the key set that it was verified with. It keeps nothing of the token: once the set has lost a key,
 * a token counts while its header still leads to the very key that its signature was verified with.
 */
export class TokenValidity implements Validity {
  readonly until: number;
  readonly #keys: KeySet;
  readonly #header: JWSHeaderParameters;
  readonly #key: CryptoKey;
  #revision: number | undefined;

  constructor(keys: KeySet, { until, revision, header, key }: Verification) {
    this.until = until;
    this.#keys = keys;
    this.#header = header;
    this.#key = key;
    this.#revision = revision;
  }

  get holds(): boolean {
    return this.#revision !== undefined && this.#revision === this.#keys.revision && Date.now() < this.until;
  }

  async confirm(): Promise<void> {
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
