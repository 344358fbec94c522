import { concat, fromBase64, toBase64 } from './bytes.ts';
import { sha256 } from './crypto.ts';

export { sha256 };

/** Bytes of a hash: the tree's hash function is SHA-256. */
export const HASH_SIZE = 32;

/** Prefix of a record's data in its hash, so that no record has the hash of a node (RFC 6962, section 2.1). */
export const RECORD_PREFIX: Uint8Array = Uint8Array.of(0x00);

const NODE_PREFIX = 0x01;

/** The root of the empty tree: the hash of the empty string (RFC 6962, section 2.1). */
export const EMPTY_ROOT: Uint8Array = sha256(new Uint8Array());

/** The hash of a record's data: MTH({d}) = SHA-256(0x00 || d) of RFC 6962, section 2.1. */
export const recordHash = (data: Uint8Array): Uint8Array => sha256(concat(RECORD_PREFIX, data));

const node = new Uint8Array(1 + 2 * HASH_SIZE).fill(NODE_PREFIX);

/** The hash of a node with two children: SHA-256(0x01 || left || right) of RFC 6962, section 2.1. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + HASH_SIZE);
  return sha256(node);
}

/** The root of a full subtree over the hashes in `row`, a power of two of them, which it overwrites. */
export function foldInPlace(row: Uint8Array): Uint8Array {
  for (let count = row.length / HASH_SIZE; count > 1; count /= 2)
    for (let at = 0; at < count / 2; at++) {
      node.set(row.subarray(2 * at * HASH_SIZE, 2 * (at + 1) * HASH_SIZE), 1);
      row.set(sha256(node), at * HASH_SIZE);
    }
  return row.subarray(0, HASH_SIZE);
}

/** Whether two hashes, or rows of hashes, are equal. */
export const sameHash = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);

/** A hash in base64 (RFC 4648, section 4), as all texts have it. */
export const formatHash = (value: Uint8Array): string => toBase64(value);

/** Parses a hash in base64. Throws unless the text is exactly what `formatHash` writes. */
export function parseHash(text: string): Uint8Array {
  const value = fromBase64(text);
  if (value?.length !== HASH_SIZE) throw new Error('malformed hash');
  return value;
}
