import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { KeySet } from './key-set.ts';
import type { Principal } from './principal.ts';

interface Entry {
  readonly principal: Principal;
  /** Milliseconds since the epoch, exclusive. */
  readonly validUntil: number;
  /** Of the keys, from before the token was verified. */
  readonly revision: number;
}

/**
 * Tokens that were verified, kept by their SHA-256: no token can be read back from it. An entry counts until its token expires
 * or a key leaves the key set, whichever is first. Holds at most `capacity` entries and forgets the least recently used.
 */
export class TokenCache {
  readonly #keys: KeySet;
  readonly #entries: LRUCache<string, Entry>;
  #hits = 0;

  constructor(keys: KeySet, capacity: number) {
    this.#keys = keys;
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
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    if (entry.revision === this.#keys.revision && Date.now() < entry.validUntil) {
      this.#hits += 1;
      return entry.principal;
    }
    this.#entries.delete(id);
    return undefined;
  }

  /** Remembers a verified token. `revision` is that of the keys before it was verified, so that no later loss of a key is missed. */
  set(token: string, entry: Entry): void {
    this.#entries.set(digest(token), entry);
  }
}

const digest = (token: string): string => hash('sha256', token);
