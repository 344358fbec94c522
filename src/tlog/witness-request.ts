import { formatHash, parseHash } from './hash.ts';
import { MAX_PROOF } from './proof.ts';

/** What a log asks a witness to cosign (c2sp.org/tlog-witness, "add-checkpoint"). */
export interface AddCheckpoint {
  /** Size of the last checkpoint that the witness is said to have cosigned; 0: none. */
  readonly older: number;
  /** The proof that the checkpoint's tree begins with the tree of that size. */
  readonly proof: readonly Uint8Array[];
  /** The checkpoint: a signed note. */
  readonly checkpoint: string;
}

/** The content type of the size that a witness answers a request with that builds on another one. */
export const SIZE_TYPE = 'text/x.tlog.size';

const OLD = /^old (0|[1-9]\d*)$/;
const SIZE = /^(0|[1-9]\d*)\n$/;

/** The body of a request. */
export const formatAddCheckpoint = ({ older, proof, checkpoint }: AddCheckpoint): string =>
  [`old ${older}`, ...proof.map(formatHash), '', checkpoint].join('\n');

/** The request that a body holds, nothing of it verified. Throws when it holds none. */
export function parseAddCheckpoint(body: string): AddCheckpoint {
  const end = body.indexOf('\n\n');
  const [old = '', ...proof] = body.slice(0, Math.max(end, 0)).split('\n');
  const older = Number(OLD.exec(old)?.[1] ?? Number.NaN);
  if (!Number.isSafeInteger(older)) throw new Error('the body begins with "old" and the size of an older checkpoint');
  if (proof.length > MAX_PROOF) throw new Error(`a proof has at most ${MAX_PROOF} hashes`);
  return { older, proof: proof.map(parseHash), checkpoint: body.slice(end + 2) };
}

/** The size that a witness answers with 409; undefined for what is none. */
export function parseSize(body: string): number | undefined {
  const size = Number(SIZE.exec(body)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(size) ? size : undefined;
}
