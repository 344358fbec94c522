import type { NotedCheckpoint } from '../../../src/tlog/checkpoint.ts';
import { sameHash } from '../../../src/tlog/hash.ts';
import { ProvenTiles } from '../../../src/tlog/proven-tiles.ts';
import { decodeEntries, TILE_WIDTH, widthAt } from '../../../src/tlog/tile.ts';
import { treeHash } from '../../../src/tlog/tree.ts';
import {
  formatKeyId,
  formatVerifierKey,
  keyId,
  parseLogKey,
  type VerifierKey,
} from '../../../src/tlog/verifier-key.ts';
import { counted } from '../numbers.ts';
import { momentOf } from '../times.ts';
import { checkCosignatures, openCheckpoint, type Proven } from './checkpoint.ts';
import type { Memory, RememberedLog } from './memory.ts';
import { type Findings, NotVerified, orNotVerified } from './outcome.ts';
import type { LogSource } from './source.ts';

/** A log whose newest checkpoint is verified, and continues what this browser saw of it. */
export interface ProvenLog extends Proven {
  readonly source: LogSource;
  readonly tiles: ProvenTiles;
}

/**
 * Opens the log of a source. The remembered key must have signed its checkpoint, and the checkpoint must extend the
 * remembered one. Then remembers it. Trusts the first key. Rejects with NotVerified.
 */
export async function openLog(source: LogSource, memory: Memory, findings: Findings): Promise<ProvenLog> {
  const key = keyOf(await source.key());
  const vkey = formatVerifierKey(key);
  const known = memory.log();
  checkKey(key, vkey, known, findings);
  const text = await source.checkpoint();
  const checkpoint = openCheckpoint(text, key);
  const { origin, size, root } = checkpoint;
  findings.checked.push(
    `The checkpoint of ${counted(size, 'event')} is signed by the key ${formatKeyId(keyId(key))} of the log ${origin}.`,
  );
  const cosignatures = checkCosignatures(checkpoint, memory.witnesses(), findings);
  const tiles = await ProvenTiles.open(size, root, source);
  if (known !== undefined)
    await checkExtends(tiles, checkpoint, openCheckpoint(known.checkpoint, key), known, findings);
  const now = Date.now();
  memory.remember({
    ...{ origin, vkey, trustedSince: known?.trustedSince ?? now },
    ...{ checkpoint: text, size, seenAt: now },
  });
  return { source, checkpoint, tiles, cosignatures };
}

/** The entries of a bundle of a log, not proved. Rejects with NotVerified for any other number of them. */
export async function readEntries({ source, checkpoint }: ProvenLog, index: number): Promise<Uint8Array[]> {
  const width = widthAt(checkpoint.size, 0, index);
  const bundle = await source.entries(index, width);
  const entries = orNotVerified(
    () => decodeEntries(bundle),
    (why) =>
      `The service sent other bytes than entries ${index * TILE_WIDTH} to ${index * TILE_WIDTH + width - 1}: ${why}.`,
  );
  if (entries.length === width) return entries;
  throw new NotVerified(`The service sent ${entries.length} entries from ${index * TILE_WIDTH} on, not ${width}.`);
}

const keyOf = (vkey: string): VerifierKey =>
  orNotVerified(
    () => parseLogKey(vkey),
    (why) => `The service sent a key that is not a valid vkey: ${why}.`,
  );

function checkKey(key: VerifierKey, vkey: string, known: RememberedLog | undefined, findings: Findings): void {
  const { name: origin } = key;
  if (known === undefined) {
    findings.unchecked.push(
      `That ${formatKeyId(keyId(key))} is the key of this log: this browser sees it for the first time, and trusts it from now on. Compare it with the key that the operator published.`,
    );
    return;
  }
  if (known.origin !== origin)
    throw new NotVerified(
      `The service shows the log ${origin}. On ${momentOf(known.seenAt)} it showed the log ${known.origin} of ${counted(known.size, 'event')}. If the operator confirms that this is another log, forget the old one here and verify again.`,
    );
  if (known.vkey !== vkey)
    throw new NotVerified(
      `The key of the log ${origin} is not the one that this browser has trusted since ${momentOf(known.trustedSince)}. If the operator confirms that the key was changed, forget the log here and verify again.`,
    );
  findings.checked.push(
    `The key is the one that this browser has trusted since ${momentOf(known.trustedSince)}, when it first saw it.`,
  );
}

async function checkExtends(
  tiles: ProvenTiles,
  { size, root }: NotedCheckpoint,
  older: NotedCheckpoint,
  { seenAt }: RememberedLog,
  findings: Findings,
): Promise<void> {
  const seen = `${counted(older.size, 'event')} that this browser saw on ${momentOf(seenAt)}`;
  if (size < older.size)
    throw new NotVerified(
      `The checkpoint was rolled back: it has ${counted(size, 'event')}, fewer than the ${seen}. The log has lost its end, or the service shows an old checkpoint.`,
    );
  const begins = size === older.size ? root : await treeHash(older.size, tiles);
  if (!sameHash(begins, older.root))
    throw new NotVerified(
      `The log was rewritten: it does not begin with the ${seen}. Both checkpoints are signed by the same key, and together they prove it.`,
    );
  findings.checked.push(size === older.size ? `The log is still the ${seen}.` : `The log begins with the ${seen}.`);
}
