import { equal } from './bytes.ts';
import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { type Cosignatures, checkCosignatures } from './cosignatures.ts';
import type { Memory, RememberedLog } from './memory.ts';
import { parseVerifierKey, type VerifierKey } from './note.ts';
import { type Findings, NotVerified } from './outcome.ts';
import type { LogSource } from './source.ts';
import { Tree } from './tree.ts';
import { eventCount, momentOf } from './words.ts';

/** A log whose newest checkpoint is verified, and continues what this browser saw of it. */
export interface ProvenLog {
  readonly source: LogSource;
  readonly checkpoint: Checkpoint;
  readonly tree: Tree;
  readonly cosignatures: Cosignatures;
}

/**
 * Opens the log of a source. The remembered key must have signed its checkpoint, and the checkpoint must extend the
 * remembered one. Then remembers it. Trusts the first key. Rejects with NotVerified.
 */
export async function openLog(source: LogSource, memory: Memory, findings: Findings): Promise<ProvenLog> {
  const key = await keyOf(await source.key());
  const known = memory.log(key.name);
  checkKey(key, known, memory, findings);
  const text = await source.checkpoint();
  const checkpoint = await openCheckpoint(text, key);
  const { origin, size } = checkpoint;
  findings.checked.push(`The checkpoint of ${eventCount(size)} is signed by the key ${key.id} of the log ${origin}.`);
  const cosignatures = await checkCosignatures(checkpoint, memory.witnesses(), findings);
  const tree = new Tree(size, checkpoint.root, (tile) => source.tile(tile));
  if (known !== undefined)
    await checkExtends(tree, checkpoint, await openCheckpoint(known.checkpoint, key), known, findings);
  const now = Date.now();
  memory.remember({
    ...{ origin, vkey: key.vkey, trustedSince: known?.trustedSince ?? now },
    ...{ checkpoint: text, size, seenAt: now },
  });
  return { source, checkpoint, tree, cosignatures };
}

async function keyOf(vkey: string): Promise<VerifierKey> {
  try {
    return await parseVerifierKey(vkey);
  } catch (error) {
    throw new NotVerified(`The service sent a key that is not a valid vkey: ${(error as Error).message}.`, error);
  }
}

function checkKey(key: VerifierKey, known: RememberedLog | undefined, memory: Memory, findings: Findings): void {
  if (known === undefined) {
    findings.unchecked.push(
      `That ${key.vkey} is the key of this log: this browser sees it for the first time, and trusts it from now on. Compare it with the key that the operator published.`,
    );
    const [other] = memory.logs();
    if (other !== undefined)
      findings.unchecked.push(
        `That this is the right log: the service showed the log ${other.origin} of ${eventCount(other.size)} on ${momentOf(other.seenAt)}, and this is another.`,
      );
    return;
  }
  if (known.vkey !== key.vkey)
    throw new NotVerified(
      `The key of the log ${key.name} is not the one that this browser has trusted since ${momentOf(known.trustedSince)}. If the operator confirms that the key was changed, forget the log here and verify again.`,
    );
  findings.checked.push(
    `The key is the one that this browser has trusted since ${momentOf(known.trustedSince)}, when it first saw it.`,
  );
}

async function checkExtends(
  tree: Tree,
  { size, root }: Checkpoint,
  older: Checkpoint,
  { seenAt }: RememberedLog,
  findings: Findings,
): Promise<void> {
  const seen = `${eventCount(older.size)} that this browser saw on ${momentOf(seenAt)}`;
  if (size < older.size)
    throw new NotVerified(
      `The checkpoint was rolled back: it has ${eventCount(size)}, fewer than the ${seen}. The log has lost its end, or the service shows an old checkpoint.`,
    );
  const begins = size === older.size ? root : await tree.rootAt(older.size);
  if (!equal(begins, older.root))
    throw new NotVerified(
      `The log was rewritten: it does not begin with the ${seen}. Both checkpoints are signed by the same key, and together they prove it.`,
    );
  findings.checked.push(size === older.size ? `The log is still the ${seen}.` : `The log begins with the ${seen}.`);
}
