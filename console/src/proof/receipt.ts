import { create } from '@bufbuild/protobuf';
import { RecordSchema } from '../../../gen/plantstore/v1/event_pb.ts';
import { readCheckpoint } from '../../../src/tlog/checkpoint.ts';
import { recordHash } from '../../../src/tlog/hash.ts';
import { checkRecord } from '../../../src/tlog/proof.ts';
import { parseTlogProof } from '../../../src/tlog/tlog-proof.ts';
import { formatKeyId, keyId, parseLogKey } from '../../../src/tlog/verifier-key.ts';
import { counted } from '../numbers.ts';
import { checkCosignatures, openCheckpoint, type Proven } from './checkpoint.ts';
import { contentBytes, eventBytes, parseEvent, parseRecord } from './event.ts';
import { CONTENT_CHECKED, checkContent } from './event-proof.ts';
import { type Findings, NotVerified, orNotVerified } from './outcome.ts';

/** A key to check a receipt with. */
export interface TrustedKey {
  readonly vkey: string;
  /** A sentence about the trust in the key. */
  readonly trust: string;
}

/** Proves what a receipt says (docs/transparency.md). `keyOf` finds the key of its log. Rejects with NotVerified. */
export async function proveReceipt(
  receipt: string,
  keyOf: (origin: string) => Promise<TrustedKey>,
  witnesses: readonly string[],
  findings: Findings,
): Promise<Required<Proven>> {
  const { extra, index, hashes, checkpoint: note, origin } = parseReceipt(receipt);
  const { vkey, trust } = await keyOf(origin);
  const key = orNotVerified(
    () => parseLogKey(vkey),
    (why) => `The key is not a valid vkey: ${why}.`,
  );
  const checkpoint = openCheckpoint(note, key);
  findings.checked.push(
    `The checkpoint of ${counted(checkpoint.size, 'event')} in the receipt is signed by the key ${formatKeyId(keyId(key))} of the log ${checkpoint.origin}.`,
  );
  findings.unchecked.push(trust);
  const cosignatures = checkCosignatures(checkpoint, witnesses, findings);
  const record = parseRecord(extra);
  const entry = eventBytes(record.event);
  const event = parseEvent(entry);
  if (Number(event.position) !== index + 1)
    throw new NotVerified(`The receipt shows event ${event.position} and proves event ${index + 1}.`);
  orNotVerified(
    () => checkRecord(hashes, checkpoint.size, checkpoint.root, index, recordHash(entry)),
    () => 'The event in the receipt is not in the tree of its checkpoint: the receipt was changed.',
  );
  findings.checked.push(
    `The event at position ${event.position} is entry ${index} of the tree: its hash leads up to the root of the checkpoint.`,
  );
  const content = record.content && checkContent(contentBytes(record.content), event);
  if (content !== undefined) findings.checked.push(CONTENT_CHECKED);
  else findings.unchecked.push('The content of the event: the receipt does not show it, and proves no erasure.');
  findings.unchecked.push('That the log still has the event today: to check that, verify its position.');
  return { record: create(RecordSchema, { event, content }), checkpoint, cosignatures };
}

/** The parts of a receipt, not verified: `origin` is what its checkpoint says. Throws NotVerified if it is not one. */
export const parseReceipt = (receipt: string) =>
  orNotVerified(
    () => {
      const { extra, ...proof } = parseTlogProof(receipt);
      if (extra === undefined) throw new Error('it has no event');
      return { ...proof, extra, origin: readCheckpoint(proof.checkpoint).origin };
    },
    () => 'This is not a receipt. A receipt is the unchanged text from GetReceipt or plantstore audit receipt.',
  );
