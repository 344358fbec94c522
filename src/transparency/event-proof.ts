import { BrokenTreeError } from '../log/tree/nodes.ts';
import type { Tree } from '../log/tree/tree.ts';
import { checkRecord, type ProvenRecord, proveRecord } from '../tlog/proof.ts';
import type { SignedCheckpoint } from './signed-checkpoint.ts';

/**
 * The hash of the event at a position, and the proof that the log has it. The checkpoint must include the position.
 * Rejects with BrokenTreeError rather than return a proof that does not verify: nobody else would notice that the nodes
 * of the tree, or the events, are no longer what was signed.
 */
export async function proveEvent(
  tree: Tree,
  { size, root }: SignedCheckpoint,
  position: number,
): Promise<ProvenRecord> {
  const index = position - 1;
  const proven = await proveRecord(size, index, tree.at(size));
  try {
    checkRecord(proven.proof, size, root, index, proven.record);
  } catch {
    throw new BrokenTreeError(
      `event ${position}, or a neighbour in the tree, differs from what the checkpoint of ${size} events covers`,
    );
  }
  return proven;
}
