import { type Bytes, concat } from './bytes.ts';

/** Bytes of a hash. */
export const HASH_SIZE = 32;

const RECORD = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** SHA-256 of all parts, one after the other. */
export const sha256 = async (...parts: readonly Uint8Array[]): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', concat(parts)));

/** The hash of a record of the tree: SHA-256(0x00 || data) of RFC 6962, section 2.1. */
export const recordHash = (data: Uint8Array): Promise<Bytes> => sha256(RECORD, data);

/** The hash of a node with two children: SHA-256(0x01 || left || right) of RFC 6962, section 2.1. */
export const nodeHash = (left: Uint8Array, right: Uint8Array): Promise<Bytes> => sha256(NODE, left, right);

/** The hash of the full subtree over a row of hashes, a power of two of them. */
export async function fold(row: readonly Bytes[]): Promise<Bytes> {
  let level = row;
  while (level.length > 1)
    level = await Promise.all(
      Array.from({ length: level.length / 2 }, (_, at) => nodeHash(level[2 * at]!, level[2 * at + 1]!)),
    );
  return level[0]!;
}

/** The root over full subtrees, largest and leftmost first, as RFC 6962 defines it. No subtree: the empty tree. */
export async function join(subtrees: readonly Bytes[]): Promise<Bytes> {
  let root = subtrees.at(-1) ?? (await sha256());
  for (const left of subtrees.slice(0, -1).toReversed()) root = await nodeHash(left, root);
  return root;
}
