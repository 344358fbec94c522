import { utf8, viewOf } from './bytes.ts';
import { ed25519Verifier } from './crypto.ts';
import type { Verifier } from './note.ts';
import { keyId, SIGNATURE_TYPE, type VerifierKey } from './verifier-key.ts';

/** Bytes of the time in a cosignature, which its Ed25519 signature follows. */
const TIMESTAMP_SIZE = 8;
const SIGNATURE_SIZE = 64;
const MAX_TIMESTAMP = 2n ** 63n - 1n;

/** The verifier for a key's type of signatures. Accepts cosignatures of any time. */
export function verifierOf(key: VerifierKey): Verifier {
  const isSignature = ed25519Verifier(key.publicKey);
  return {
    name: key.name,
    id: keyId(key),
    verify:
      key.type === SIGNATURE_TYPE.ed25519
        ? (text, signature) => signature.length === SIGNATURE_SIZE && isSignature(utf8(text), signature)
        : (text, signature) =>
            signature.length === TIMESTAMP_SIZE + SIGNATURE_SIZE &&
            secondsOf(signature) <= MAX_TIMESTAMP &&
            isSignature(cosignedMessage(secondsOf(signature), text), signature.subarray(TIMESTAMP_SIZE)),
  };
}

/** What a witness signs under a checkpoint (c2sp.org/tlog-cosignature, "Ed25519 signed message"). */
export const cosignedMessage = (seconds: bigint, checkpoint: string): Uint8Array =>
  utf8(`cosignature/v1\ntime ${seconds}\n${checkpoint}`);

/** The time of a verified cosignature, in milliseconds since 1970. */
export const cosignedAt = (signature: Uint8Array): number => Number(secondsOf(signature)) * 1_000;

const secondsOf = (signature: Uint8Array): bigint => viewOf(signature).getBigUint64(0);
