import { type Bytes, equal } from './bytes.ts';
import { nodeHash } from './hash.ts';

/** Whether a proof leads from a record's hash at an index to the root of a tree of a size (RFC 9162, section 2.1.3.2). */
export async function isIncluded(
  proof: readonly Bytes[],
  { size, root }: { readonly size: number; readonly root: Bytes },
  index: number,
  record: Bytes,
): Promise<boolean> {
  if (index >= size) return false;
  let hash = record;
  let [node, last] = [index, size - 1];
  for (const sibling of proof) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      hash = await nodeHash(sibling, hash);
      while (node % 2 === 0 && node > 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else hash = await nodeHash(hash, sibling);
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 && equal(hash, root);
}
