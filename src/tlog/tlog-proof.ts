import { fromBase64, toBase64 } from './bytes.ts';
import { formatHash, parseHash } from './hash.ts';
import { MAX_PROOF } from './proof.ts';

/** An offline proof that a log has a record (c2sp.org/tlog-proof). */
export interface TlogProof {
  /** Data of the application, not covered by the proof; undefined if there is none. */
  readonly extra?: Uint8Array | undefined;
  /** Index of the record, from 0 up. */
  readonly index: number;
  /** The inclusion proof of the record in the checkpoint's tree. */
  readonly hashes: readonly Uint8Array[];
  /** The checkpoint: a signed note. */
  readonly checkpoint: string;
}

const MAGIC = 'c2sp.org/tlog-proof@v1';
const EXTRA = 'extra ';
const INDEX = /^index (0|[1-9]\d*)$/;

/** Formats a proof. */
export const formatTlogProof = ({ extra, index, hashes, checkpoint }: TlogProof): string =>
  [
    MAGIC,
    ...(extra === undefined ? [] : [`${EXTRA}${toBase64(extra)}`]),
    `index ${index}`,
    ...hashes.map(formatHash),
    '',
    checkpoint,
  ].join('\n');

/** Parses a proof without verifying it. Throws if it is malformed. */
export function parseTlogProof(text: string): TlogProof {
  if (!text.startsWith(`${MAGIC}\n`))
    throw new Error(`malformed proof: it does not begin with ${MAGIC} and a line feed`);
  const end = text.indexOf('\n\n');
  if (end < 0) throw new Error('malformed proof: it ends before its checkpoint');
  const lines = text.slice(MAGIC.length + 1, end).split('\n');
  const extra = lines[0]?.startsWith(EXTRA) ? parseExtra(lines.shift()!.slice(EXTRA.length)) : undefined;
  const index = Number(INDEX.exec(lines.shift() ?? '')?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(index)) throw new Error('malformed proof: it has no index line');
  if (lines.length > MAX_PROOF) throw new Error(`malformed proof: it has more than ${MAX_PROOF} hashes`);
  return { extra, index, hashes: lines.map(parseHash), checkpoint: text.slice(end + 2) };
}

function parseExtra(encoded: string): Uint8Array {
  const extra = fromBase64(encoded);
  if (extra === undefined) throw new Error('malformed proof: its extra data is not base64');
  return extra;
}
