import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Principal } from './principal.ts';

/**
 * Caches verified tokens by their SHA-256, so that no token can be read back. An entry is valid until its token expires
 * or a key leaves the key set. Keeps at most `capacity` entries, and drops the least recently used.
 */
export class TokenCache {
  readonly #entries: LRUCache<string, Principal>;
  #hits = 0;

  constructor(capacity: number) {
    this.#entries = new LRUCache({ max: capacity });
  }

  /** Calls that the cache admitted. */
  get hits(): number {
    return this.#hits;
  }

  /** Cached tokens. */
  get size(): number {
    return this.#entries.size;
  }

  /** The principal of a cached token, if it is still valid. */
  get(token: string): Principal | undefined {
    const id = digest(token);
    const principal = this.#entries.get(id);
    if (principal === undefined) return undefined;
    if (principal.validity.holds) {
      this.#hits += 1;
      return principal;
    }
    this.#entries.delete(id);
    return undefined;
  }

  /** Removes all tokens. */
  clear(): void {
    this.#entries.clear();
  }

  /** Adds a verified token. */
  set(token: string, principal: Principal): void {
    this.#entries.set(digest(token), principal);
  }
}

const digest = (token: string): string => hash('sha256', token);
