import { type Bytes, fromBase64, textOf } from './bytes.ts';
import { type Checkpoint, openCheckpoint, parseCheckpoint } from './checkpoint.ts';
import { type Cosignatures, checkCosignatures } from './cosignatures.ts';
import { parseEvent, parseRecord } from './event.ts';
import { CONTENT_CHECKED, checkContent, type ProvenEvent } from './event-proof.ts';
import { HASH_SIZE, recordHash } from './hash.ts';
import { isIncluded } from './inclusion.ts';
import { parseVerifierKey } from './note.ts';
import { type Findings, NotVerified } from './outcome.ts';
import { eventCount } from './words.ts';

/** The event of a receipt, and the checkpoint that covers it. */
export interface ProvenReceipt extends ProvenEvent {
  readonly checkpoint: Checkpoint;
  readonly cosignatures: Cosignatures;
}

/** A key to check a receipt with. */
export interface TrustedKey {
  readonly vkey: string;
  /** A sentence about the trust in the key. */
  readonly trust: string;
}

const MAGIC = 'c2sp.org/tlog-proof@v1';
/** Most hashes of a proof: a tree has at most 2^63 records. */
const MAX_PROOF = 63;

/**
 * Proves what a receipt says (docs/transparency.md): a tlog-proof with the event's Record. It needs no service. `keyOf`
 * finds the key of its log. Rejects with NotVerified.
 */
export async function proveReceipt(
  receipt: Bytes,
  keyOf: (origin: string) => Promise<TrustedKey>,
  witnesses: readonly string[],
  findings: Findings,
): Promise<ProvenReceipt> {
  const { extra, index, hashes, note } = parseReceipt(receipt);
  const { vkey, trust } = await keyOf(parseCheckpoint(note).origin);
  const key = await parseVerifierKey(vkey).catch((error: Error) => {
    throw new NotVerified(`The key is not a valid vkey: ${error.message}.`, error);
  });
  const checkpoint = await openCheckpoint(note, key);
  findings.checked.push(
    `The checkpoint of ${eventCount(checkpoint.size)} in the receipt is signed by the key ${key.id} of the log ${checkpoint.origin}.`,
  );
  findings.unchecked.push(trust);
  const cosignatures = await checkCosignatures(checkpoint, witnesses, findings);
  const record = parseRecord(extra);
  const event = parseEvent(record.event);
  if (event.position !== index + 1)
    throw new NotVerified(`The receipt shows event ${event.position} and proves event ${index + 1}.`);
  const leaf = await recordHash(record.event);
  if (!(await isIncluded(hashes, checkpoint, index, leaf)))
    throw new NotVerified('The event in the receipt is not in the tree of its checkpoint: the receipt was changed.');
  findings.checked.push(
    `The event at position ${event.position} is entry ${index} of the tree: its hash leads up to the root of the checkpoint.`,
  );
  if (record.content === undefined) throw new NotVerified('The receipt does not show the content of the event.');
  const content = await checkContent(record.content, event);
  findings.checked.push(CONTENT_CHECKED);
  findings.unchecked.push('That the log still has the event today: to check that, verify its position.');
  return { event, leaf, content, erasedBy: undefined, checkpoint, cosignatures };
}

/** The parts of a receipt, not verified. */
export interface Receipt {
  /** The event's Record. */
  readonly extra: Bytes;
  readonly index: number;
  readonly hashes: readonly Bytes[];
  /** The checkpoint. */
  readonly note: string;
}

/** The parts of a receipt. Throws NotVerified if it is not one. */
export function parseReceipt(receipt: Bytes): Receipt {
  try {
    const text = textOf(receipt);
    const end = text.indexOf('\n\n');
    const [magic, extra = '', indexLine = '', ...lines] = text.slice(0, Math.max(end, 0)).split('\n');
    const [, digits] = /^index (0|[1-9]\d*)$/.exec(indexLine) ?? [];
    const hashes = lines.map(fromBase64);
    const isWhole =
      magic === MAGIC &&
      extra.startsWith('extra ') &&
      digits !== undefined &&
      Number.isSafeInteger(Number(digits)) &&
      hashes.length <= MAX_PROOF &&
      hashes.every(({ length }) => length === HASH_SIZE);
    if (!isWhole) throw new Error('it is not a tlog-proof with an event');
    return {
      extra: fromBase64(extra.slice('extra '.length)),
      index: Number(digits),
      hashes,
      note: text.slice(end + 2),
    };
  } catch (error) {
    throw new NotVerified(
      'This is not a receipt. A receipt is the unchanged text from GetReceipt or plantstore audit receipt.',
      error,
    );
  }
}
