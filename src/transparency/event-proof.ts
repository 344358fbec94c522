import { counted } from '../domain/counted.ts';
import { BrokenChainError, leafHash, verifyContent } from '../log/event/chain.ts';
import type { LoggedEvent } from '../log/event/event.ts';
import { provenRecordBytes } from '../log/event/record.ts';
import { BrokenTreeError } from '../log/tree/nodes.ts';
import type { Tree } from '../log/tree/tree.ts';
import { sameHash } from '../tlog/hash.ts';
import { checkRecord, type ProvenRecord, proveRecord } from '../tlog/proof.ts';
import { formatTlogProof } from '../tlog/tlog-proof.ts';
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
  const proven = await proveRecord(size, index, tree);
  try {
    checkRecord(proven.proof, size, root, index, proven.record);
  } catch {
    throw new BrokenTreeError(
      `event ${position}, or a neighbour in the tree, differs from what the checkpoint of ${counted(size, 'event')} covers`,
    );
  }
  return proven;
}

/**
 * The receipt for an event: a tlog-proof (c2sp.org/tlog-proof) whose extra data is the event's plantstore.v1.Record
 * without `hash`. `proven`: see proveEvent. The receipt stays valid without the log, as long as SHA-256 and the key are
 * secure. Throws BrokenChainError rather than make a receipt that does not verify.
 */
export function makeReceipt({ record, proof }: ProvenRecord, checkpoint: SignedCheckpoint, event: LoggedEvent): string {
  const { position } = event;
  // The tree may remember the event from before it was changed.
  if (!sameHash(record, leafHash(event))) throw new BrokenChainError(position, 'it does not match the Merkle tree');
  verifyContent(event);
  const extra = provenRecordBytes(event);
  return formatTlogProof({ extra, index: position - 1, hashes: proof, checkpoint: checkpoint.note });
}
