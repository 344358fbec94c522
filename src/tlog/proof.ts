import { EMPTY_ROOT, nodeHash, sameHash } from './hash.ts';
import { type HashReader, type Range, rangeHashes, splitOf } from './tree.ts';

/** A proof does not hold, or is no proof of what it is said to prove. */
export class ProofError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProofError';
  }
}

/** Most hashes that a proof can have: a tree has at most 2^63 records. */
export const MAX_PROOF = 63;

/**
 * The proof that the tree of a size has a certain record at an index: RFC 6962, section 2.1.1, calls it the Merkle audit path,
 * from the leaf's sibling up to the root's child. Throws ProofError when the tree has no such record.
 */
export async function proveRecord(size: number, index: number, reader: HashReader): Promise<Uint8Array[]> {
  return rangeHashes(recordRanges(size, index), reader);
}

/** Throws ProofError unless the proof shows that the tree of this size and root has a record of this hash at the index. */
export function checkRecord(
  proof: readonly Uint8Array[],
  size: number,
  root: Uint8Array,
  index: number,
  record: Uint8Array,
): void {
  const ranges = recordRanges(size, index);
  checkLength(proof, ranges);
  const found = ranges.reduce(
    (hash, [start], step) => (start > index ? nodeHash(hash, proof[step]!) : nodeHash(proof[step]!, hash)),
    record,
  );
  if (!sameHash(found, root)) throw new ProofError('the record is not in the tree at this index');
}

/**
 * The proof that the tree of a size begins with the tree of an older one: the consistency proof PROOF(m, D[n]) of RFC 6962,
 * section 2.1.2. It is empty for an older size of 0, since every tree begins with the empty one. Throws ProofError when the
 * older size is the larger.
 */
export async function proveTree(size: number, older: number, reader: HashReader): Promise<Uint8Array[]> {
  return rangeHashes(treeRanges(size, older), reader);
}

/** Throws ProofError unless the proof shows that the tree of this size and root begins with the tree of the older ones. */
export function checkTree(
  proof: readonly Uint8Array[],
  size: number,
  root: Uint8Array,
  older: number,
  olderRoot: Uint8Array,
): void {
  const ranges = treeRanges(size, older);
  checkLength(proof, ranges);
  const inconsistent = new ProofError('the tree does not begin with the older tree');
  if (older === 0) {
    if (!sameHash(olderRoot, EMPTY_ROOT) || (size === 0 && !sameHash(root, EMPTY_ROOT))) throw inconsistent;
    return;
  }
  // The largest full subtree at the end of the older tree: the proof begins with it, unless it is the whole older tree.
  const isGiven = ranges[0]?.[1] === older && ranges[0][0] > 0;
  let [before, after] = isGiven ? [proof[0]!, proof[0]!] : [olderRoot, olderRoot];
  for (let step = isGiven ? 1 : 0; step < ranges.length; step++) {
    const [start] = ranges[step]!;
    if (start >= older) after = nodeHash(after, proof[step]!);
    else {
      before = nodeHash(proof[step]!, before);
      after = nodeHash(proof[step]!, after);
    }
  }
  if (!sameHash(before, olderRoot) || !sameHash(after, root)) throw inconsistent;
}

/** The siblings on the way from a record up to the root. */
function recordRanges(size: number, index: number): Range[] {
  if (!(Number.isSafeInteger(size) && Number.isSafeInteger(index) && index >= 0 && index < size))
    throw new ProofError(`a tree of ${size} records has none at index ${index}`);
  const ranges: Range[] = [];
  for (let [start, end] = [0, size]; end - start > 1; ) {
    const middle = start + splitOf(end - start);
    if (index < middle) {
      ranges.push([middle, end]);
      end = middle;
    } else {
      ranges.push([start, middle]);
      start = middle;
    }
  }
  return ranges.reverse();
}

/** What the older tree and what came after it are made of, from the older tree's right edge up to the root. */
function treeRanges(size: number, older: number): Range[] {
  if (!(Number.isSafeInteger(size) && Number.isSafeInteger(older) && older >= 0 && older <= size))
    throw new ProofError(`a tree of ${size} records has no older one of ${older}`);
  if (older === 0) return [];
  const ranges: Range[] = [];
  let [start, end] = [0, size];
  while (end !== older) {
    const middle = start + splitOf(end - start);
    if (older <= middle) {
      ranges.push([middle, end]);
      end = middle;
    } else {
      ranges.push([start, middle]);
      start = middle;
    }
  }
  if (start > 0) ranges.push([start, end]);
  return ranges.reverse();
}

function checkLength(proof: readonly Uint8Array[], ranges: readonly Range[]): void {
  if (proof.length !== ranges.length)
    throw new ProofError(`the proof has ${proof.length} hashes where ${ranges.length} make one`);
}
