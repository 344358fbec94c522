import { boundedText } from '../bounded-text.ts';
import { counted } from '../domain/counted.ts';
import { clearTimer, setTimer } from '../time/host.ts';
import { formatCheckpoint } from '../tlog/checkpoint.ts';
import { EMPTY_ROOT } from '../tlog/hash.ts';
import { formatSignature, parseSignatures, type Signature, signatureBy } from '../tlog/note.ts';
import { proveTree } from '../tlog/proof.ts';
import type { TileReader } from '../tlog/tile.ts';
import type { VerifierKey } from '../tlog/verifier-key.ts';
import { formatAddCheckpoint, parseSize } from '../tlog/witness-request.ts';
import { RESTORED, type SignedCheckpoint } from './signed-checkpoint.ts';

/** Most milliseconds for an answer. A slow witness of several instances needs several requests of each. */
const TIME_LIMIT = 5_000;
/** Most requests for one cosignature. */
const MAX_ATTEMPTS = 4;
/** Most bytes of a witness's response. */
const MAX_ANSWER = 64 * 1024;

/** The witness has cosigned a larger checkpoint: the log has lost events, or this instance is behind another. */
export class WitnessAheadError extends Error {
  /** Events in the checkpoint that the witness has cosigned. */
  readonly seen: number;

  constructor(name: string, seen: number, size: number) {
    const missing = `has cosigned a checkpoint of ${counted(seen, 'event')}, but this log has ${size}`;
    super(`the witness ${name} ${missing}; ${RESTORED}`);
    this.name = 'WitnessAheadError';
    this.seen = seen;
  }
}

/** The witness says that the log does not extend what it cosigned: one of them was rewritten. */
export class WitnessForkedError extends Error {
  constructor(name: string, seen: number, size: number, answer: string) {
    super(
      `the witness ${name} has cosigned a checkpoint of ${counted(seen, 'event')}, which this log of ${size} does not extend: ${answer}`,
    );
    this.name = 'WitnessForkedError';
  }
}

/** The status and body of a response of a witness. */
export interface WitnessResponse {
  readonly status: number;
  readonly body: string;
}

/** Sends a request to an endpoint. Rejects when there is no response, or once the signal aborts. */
export type Post = (endpoint: string, body: string, signal: AbortSignal) => Promise<WitnessResponse>;

const overHttp: Post = async (endpoint, body, signal) => {
  const response = await fetch(endpoint, { method: 'POST', body, signal, redirect: 'error' });
  return { status: response.status, body: await boundedText(response, MAX_ANSWER, 'the witness') };
};

const endpointAt = ({ href }: URL): string => `${href.replace(/\/$/, '')}/add-checkpoint`;

/**
 * The status with which a witness refuses a checkpoint of a log that nobody has signed, so that nothing changes: 403 if
 * the witness knows the log, 404 if not (c2sp.org/tlog-witness). Rejects when there is no answer.
 */
export async function statusOfUnsigned(url: URL, origin: string, signal: AbortSignal): Promise<number> {
  const text = formatCheckpoint({ origin, size: 0, root: EMPTY_ROOT });
  const signature = formatSignature({ name: origin, id: 0, bytes: new Uint8Array(64) });
  const body = formatAddCheckpoint({ older: 0, proof: [], checkpoint: `${text}\n${signature}` });
  return (await overHttp(endpointAt(url), body, signal)).status;
}

/** What a witness answered to a request that builds on `older` events. */
interface Answer extends WitnessResponse {
  readonly older: number;
}

/** Client of one witness (c2sp.org/tlog-witness). Trusts a response only after verifying its signature. */
export class WitnessClient {
  readonly name: string;
  readonly #endpoint: string;
  readonly #key: VerifierKey;
  readonly #tree: TileReader;
  readonly #post: Post;
  /** Size of the last checkpoint that the witness cosigned, as far as known. */
  #last = 0;

  /** `url`: the submission prefix of the witness. `post`: how requests get there. Default: over HTTP. */
  constructor({ url, key }: { readonly url: URL; readonly key: VerifierKey }, tree: TileReader, post = overHttp) {
    this.name = key.name;
    this.#endpoint = endpointAt(url);
    this.#key = key;
    this.#tree = tree;
    this.#post = post;
  }

  /** The witness's cosignature of a checkpoint. Rejects, with the reason, if there is none. */
  async cosign(checkpoint: SignedCheckpoint, within: AbortSignal): Promise<Signature> {
    let answer = await this.#ask(checkpoint, within);
    // Other instances may have submitted checkpoints meanwhile.
    for (
      let attempt = 1;
      answer.status === 409 && !saysForked(answer, checkpoint) && attempt < MAX_ATTEMPTS;
      attempt++
    ) {
      const size = parseSize(answer.body);
      if (size === undefined) throw new Error(`the witness ${this.name} answered 409 without a size`);
      if (size > checkpoint.size) throw new WitnessAheadError(this.name, size, checkpoint.size);
      this.#last = size;
      answer = await this.#ask(checkpoint, within);
    }
    if (saysForked(answer, checkpoint))
      throw new WitnessForkedError(this.name, answer.older, checkpoint.size, statusOf(answer));
    if (answer.status !== 200) throw new Error(`the witness ${this.name} answered ${statusOf(answer)}`);
    const signed = { text: formatCheckpoint(checkpoint), signatures: parseSignatures(answer.body) };
    const cosignature = signatureBy(this.#key, signed);
    if (cosignature === undefined) throw new Error(`the witness ${this.name} answered without its cosignature`);
    this.#last = checkpoint.size;
    return cosignature;
  }

  async #ask(checkpoint: SignedCheckpoint, signal: AbortSignal): Promise<Answer> {
    const { size, note } = checkpoint;
    // If the size is wrong, the witness answers 409 with the right one.
    const older = this.#last <= size ? this.#last : 0;
    const proof = await proveTree(size, older, this.#tree);
    const body = formatAddCheckpoint({ older, proof, checkpoint: note });
    const late = new AbortController();
    const timer = setTimer(
      () => late.abort(new Error(`the witness ${this.name} did not answer in ${TIME_LIMIT / 1_000} s`)),
      TIME_LIMIT,
    );
    try {
      return { older, ...(await this.#post(this.#endpoint, body, AbortSignal.any([signal, late.signal]))) };
    } finally {
      clearTimer(timer);
    }
  }
}

/**
 * Whether the witness refuses the checkpoint because of its root: by 422, or, as the specification had it until July
 * 2026, at the size that it knows by 409, with this size or none. Every tree extends the empty one, so a refusal at
 * size 0 is a fault of the witness.
 */
function saysForked({ older, status, body }: Answer, { size }: SignedCheckpoint): boolean {
  if (older === 0) return false;
  return status === 422 || (status === 409 && older === size && (parseSize(body) ?? size) === size);
}

/** The status and the beginning of the body, in one line. */
const statusOf = ({ status, body }: Answer): string => `${status} ${JSON.stringify(body.slice(0, 200))}`;
