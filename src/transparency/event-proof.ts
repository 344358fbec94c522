import type { Tree } from '../log/tree/tree.ts';
import { proveRecord } from '../tlog/proof.ts';
import type { TlogProof } from '../tlog/tlog-proof.ts';
import type { SignedCheckpoint } from './signed-checkpoint.ts';

/** The proof that the log has the event at a position. The checkpoint must include the position. */
export async function proveEvent(tree: Tree, { size, note }: SignedCheckpoint, position: number): Promise<TlogProof> {
  const index = position - 1;
  return { index, hashes: await proveRecord(size, index, tree.at(size)), checkpoint: note };
}
