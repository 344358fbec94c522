import { createHmac } from 'node:crypto';
import type { Principal } from '../auth/principal.ts';

/** Hexadecimal digits of a hash: enough to distinguish owners. */
const DIGITS = 16;

/**
 * How log lines name owners and subjects: by the first 16 hexadecimal digits of HMAC-SHA-256(key, UTF-8 of the name).
 * Without the key, nobody can find out whom a line names by trying names.
 */
export class OwnerHashes {
  #key: Uint8Array | undefined;
  #known = new WeakMap<Principal, string>();

  /** Replaces the key. Undefined, as at first: lines name nobody. */
  set key(key: Uint8Array | undefined) {
    this.#key = key;
    this.#known = new WeakMap();
  }

  /** The hash of a name. Undefined while there is no key. */
  of(name: string): string | undefined {
    return this.#key && createHmac('sha256', this.#key).update(name).digest('hex').slice(0, DIGITS);
  }

  /** The hash of a caller's owner, computed once for each caller. */
  ofCaller(principal: Principal): string | undefined {
    const known = this.#known.get(principal);
    if (known !== undefined) return known;
    const hash = this.of(principal.owner);
    if (hash !== undefined) this.#known.set(principal, hash);
    return hash;
  }
}
