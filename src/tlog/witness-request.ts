import { formatHash, parseHash } from './hash.ts';
import { MAX_PROOF } from './proof.ts';

/** A request of a log to a witness (c2sp.org/tlog-witness, "add-checkpoint"). */
export interface AddCheckpoint {
  /** Size of the last checkpoint that the witness cosigned, according to the log; 0 if none. */
  readonly older: number;
  /** The proof that the checkpoint's tree extends the tree of that size. */
  readonly proof: readonly Uint8Array[];
  /** The checkpoint: a signed note. */
  readonly checkpoint: string;
}

/** Content type of a 409 response: the size of the last checkpoint that the witness cosigned. */
export const SIZE_TYPE = 'text/x.tlog.size';

const OLD = /^old (0|[1-9]\d*)$/;
const SIZE = /^(0|[1-9]\d*)\n$/;

/** Formats the body of a request. */
export const formatAddCheckpoint = ({ older, proof, checkpoint }: AddCheckpoint): string =>
  [`old ${older}`, ...proof.map(formatHash), '', checkpoint].join('\n');

/** Parses the body of a request without verifying it. Throws if it is malformed. */
export function parseAddCheckpoint(body: string): AddCheckpoint {
  const end = body.indexOf('\n\n');
  const [old = '', ...proof] = body.slice(0, Math.max(end, 0)).split('\n');
  const older = Number(OLD.exec(old)?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(older))
    throw new Error('the body must begin with "old" and the size of an older checkpoint');
  if (proof.length > MAX_PROOF) throw new Error(`a proof must have at most ${MAX_PROOF} hashes`);
  return { older, proof: proof.map(parseHash), checkpoint: body.slice(end + 2) };
}

/** Parses the body of a 409 response; undefined if it is not a size. */
export function parseSize(body: string): number | undefined {
  const size = Number(SIZE.exec(body)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(size) ? size : undefined;
}
