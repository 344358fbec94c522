import { BrokenChainError, leafHash, verifyContent } from '../log/event/chain.ts';
import type { LoggedEvent } from '../log/event/event.ts';
import { provenRecordBytes } from '../log/event/record.ts';
import type { Tree } from '../log/tree/tree.ts';
import { sameHash } from '../tlog/hash.ts';
import { formatTlogProof } from '../tlog/tlog-proof.ts';
import { proveEvent } from './event-proof.ts';
import type { SignedCheckpoint } from './signed-checkpoint.ts';

/**
 * The receipt for an event: a tlog-proof (c2sp.org/tlog-proof) whose extra data is the event's plantstore.v1.Record
 * without `hash`. The checkpoint must include the event. The receipt stays valid without the log, as long as SHA-256
 * and the key are secure. Rejects with BrokenChainError rather than make a receipt that does not verify.
 */
export async function makeReceipt(tree: Tree, checkpoint: SignedCheckpoint, event: LoggedEvent): Promise<string> {
  const { position } = event;
  const { record, proof } = await proveEvent(tree, checkpoint, position);
  // The tree may remember the event from before it was changed.
  if (!sameHash(record, leafHash(event))) throw new BrokenChainError(position, 'it does not match the Merkle tree');
  verifyContent(event);
  const extra = provenRecordBytes(event);
  return formatTlogProof({ extra, index: position - 1, hashes: proof, checkpoint: checkpoint.note });
}
