import { EMPTY_ROOT, nodeHash, sameHash } from './hash.ts';
import type { TileReader } from './tile.ts';
import { type Range, rangeHashes, splitOf } from './tree.ts';

/** A proof is invalid, or does not prove the given statement. */
export class ProofError extends Error {
  override readonly name = 'ProofError';
}

/** Most hashes of a proof: a tree has at most 2^63 records. */
export const MAX_PROOF = 63;

/** A record of a tree, and the proof that the tree has it. */
export interface ProvenRecord {
  /** The hash of the record. */
  readonly record: Uint8Array;
  /** The Merkle audit path of RFC 6962, section 2.1.1, from the leaf's sibling up. */
  readonly proof: readonly Uint8Array[];
}

/** The record at an index in the tree of a size, with its inclusion proof. Throws ProofError if there is none. */
export async function proveRecord(size: number, index: number, tiles: TileReader): Promise<ProvenRecord> {
  const [record, ...proof] = await rangeHashes([[index, index + 1], ...recordRanges(size, index)], size, tiles);
  return { record: record!, proof };
}

/** Throws ProofError unless the proof shows that the tree of this size and root has the record at the index. */
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
 * The consistency proof that the tree of a size extends that of an older size: PROOF(m, D[n]) of RFC 6962, section
 * 2.1.2; empty for an older size of 0. Throws ProofError if the older size is larger.
 */
export async function proveTree(size: number, older: number, tiles: TileReader): Promise<Uint8Array[]> {
  return rangeHashes(treeRanges(size, older), size, tiles);
}

/** Verifies a consistency proof. Throws ProofError unless it proves that the tree extends the older tree. */
export function checkTree(
  proof: readonly Uint8Array[],
  size: number,
  root: Uint8Array,
  older: number,
  olderRoot: Uint8Array,
): void {
  const ranges = treeRanges(size, older);
  checkLength(proof, ranges);
  const inconsistent = new ProofError('the tree does not extend the older tree');
  if (older === 0) {
    if (!sameHash(olderRoot, EMPTY_ROOT) || (size === 0 && !sameHash(root, EMPTY_ROOT))) throw inconsistent;
    return;
  }
  // The proof begins with the largest full subtree at the end of the older tree, unless that is the whole older tree.
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

/** The ranges of the siblings on the path from a record to the root. */
function recordRanges(size: number, index: number): Range[] {
  if (!(Number.isSafeInteger(size) && Number.isSafeInteger(index) && index >= 0 && index < size))
    throw new ProofError(`a tree of ${size} records has no record at index ${index}`);
  return siblings(size, index + 1, ([start, end]) => end - start === 1).ranges;
}

/** The ranges of a consistency proof, from the older tree's right edge up to the root. */
function treeRanges(size: number, older: number): Range[] {
  if (!(Number.isSafeInteger(size) && Number.isSafeInteger(older) && older >= 0 && older <= size))
    throw new ProofError(`a tree of ${size} records does not extend one of ${older}`);
  if (older === 0) return [];
  const { ranges, last } = siblings(size, older, ([, end]) => end === older);
  return last[0] > 0 ? [last, ...ranges] : ranges;
}

/**
 * The ranges beside the path from the root down to the last of the first `count` records, the lowest first, and where
 * it ends.
 */
function siblings(size: number, count: number, isEnd: (range: Range) => boolean): { ranges: Range[]; last: Range } {
  const ranges: Range[] = [];
  let last: Range = [0, size];
  while (!isEnd(last)) {
    const [start, end] = last;
    const middle = start + splitOf(end - start);
    const isLeft = count <= middle;
    ranges.unshift(isLeft ? [middle, end] : [start, middle]);
    last = isLeft ? [start, middle] : [middle, end];
  }
  return { ranges, last };
}

function checkLength(proof: readonly Uint8Array[], ranges: readonly Range[]): void {
  if (proof.length !== ranges.length)
    throw new ProofError(`the proof has ${proof.length} hashes, but must have ${ranges.length}`);
}
