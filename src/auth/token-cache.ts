import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Principal } from './principal.ts';

/**
 * Tokens that were verified, kept by their SHA-256: no token can be read back from it. An entry counts until its token expires
 * or a key leaves the key set, whichever is first. Holds at most `capacity` entries and forgets the least recently used.
 */
export class TokenCache {
  readonly #entries: LRUCache<string, Principal>;
  #hits = 0;

  constructor(capacity: number) {
    this.#entries = new LRUCache({ max: capacity });
  }

  /** How many calls were let in by the cache alone. */
  get hits(): number {
    return this.#hits;
  }

  /** How many tokens it remembers. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whom the token was verified to be, if that still counts. */
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

  /** Forgets every token, which is then verified again. */
  clear(): void {
    this.#entries.clear();
  }

  /** Remembers a verified token. */
  set(token: string, principal: Principal): void {
    this.#entries.set(digest(token), principal);
  }
}

const digest = (token: string): string => hash('sha256', token);
