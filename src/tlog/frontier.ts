import { EMPTY_ROOT, nodeHash } from './hash.ts';

/**
 * A tree that grows a record at a time, of which no more is kept than its root needs: the hashes of the full subtrees that it
 * consists of, one for each 1 in the binary form of its size.
 */
export class Frontier {
  #size = 0;
  /** The largest, which is the leftmost, first. */
  readonly #subtrees: Uint8Array[] = [];

  /** How many records were added. */
  get size(): number {
    return this.#size;
  }

  /** Adds a record by its hash. */
  add(record: Uint8Array): void {
    let hash = record;
    // Each 1 at the end of the size is a subtree that the new record completes to one of twice its size.
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2) hash = nodeHash(this.#subtrees.pop()!, hash);
    this.#subtrees.push(hash);
    this.#size++;
  }

  /** The root of the tree (RFC 6962, section 2.1). */
  get root(): Uint8Array {
    return this.#size === 0 ? EMPTY_ROOT : this.#subtrees.reduceRight((right, left) => nodeHash(left, right));
  }
}
