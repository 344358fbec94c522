import { EMPTY_ROOT, nodeHash } from './hash.ts';

/**
 * A tree that grows record by record. Keeps only the hashes of its full subtrees, one for each 1 in the binary form of
 * its size.
 */
export class Frontier {
  #size = 0;
  /** From the largest and leftmost. */
  readonly #subtrees: Uint8Array[] = [];

  /** Number of records added. */
  get size(): number {
    return this.#size;
  }

  /** Adds the hash of a record. */
  add(record: Uint8Array): void {
    let hash = record;
    // Each trailing 1 of the size is a subtree that the new record completes to one of twice the size.
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2) hash = nodeHash(this.#subtrees.pop()!, hash);
    this.#subtrees.push(hash);
    this.#size++;
  }

  /** The root of the tree (RFC 6962, section 2.1). */
  get root(): Uint8Array {
    return this.#size === 0 ? EMPTY_ROOT : this.#subtrees.reduceRight((right, left) => nodeHash(left, right));
  }
}
