import type { LoggedEvent } from '../log/event/event.ts';
import { provenRecordBytes } from '../log/event/record-bytes.ts';
import type { Tree } from '../log/tree/tree.ts';
import { formatTlogProof } from '../tlog/tlog-proof.ts';
import { proveEvent } from './event-proof.ts';
import type { SignedCheckpoint } from './signed-checkpoint.ts';

/**
 * The receipt for an event: a tlog-proof (c2sp.org/tlog-proof) whose extra data is the event's plantstore.v1.Record
 * without `hash`. The checkpoint must include the event. The receipt stays valid without the log, as long as SHA-256
 * and the key are secure.
 */
export async function makeReceipt(tree: Tree, checkpoint: SignedCheckpoint, event: LoggedEvent): Promise<string> {
  const proof = await proveEvent(tree, checkpoint, event.position);
  return formatTlogProof({ ...proof, extra: provenRecordBytes(event) });
}
