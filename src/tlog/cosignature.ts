import { type KeyObject, sign, verify } from 'node:crypto';
import type { Signer, Verifier } from './note.ts';
import { keyId, publicKeyBytes, publicKeyOf, SIGNATURE_TYPE, type VerifierKey } from './verifier-key.ts';

const TIMESTAMP_SIZE = 8;
const SIGNATURE_SIZE = 64;
const MAX_TIMESTAMP = 2n ** 63n - 1n;

/** The verifier key of a witness: its name and Ed25519 key. */
export const cosignatureKey = (name: string, key: KeyObject): VerifierKey => ({
  name,
  type: SIGNATURE_TYPE.cosignature,
  publicKey: publicKeyBytes(key),
});

/**
 * Cosigns checkpoints (c2sp.org/tlog-cosignature, "Ed25519 signed message"). A cosignature states that the witness has
 * seen this tree, and none inconsistent with it, as of now. `clock` gives milliseconds since 1970.
 */
export const cosigner = (name: string, privateKey: KeyObject, clock: () => number = Date.now): Signer => ({
  name,
  id: keyId(cosignatureKey(name, privateKey)),
  sign: (text) => {
    const seconds = BigInt(Math.floor(clock() / 1_000));
    const timestamp = Buffer.alloc(TIMESTAMP_SIZE);
    timestamp.writeBigUInt64BE(seconds);
    return Buffer.concat([timestamp, sign(null, message(seconds, text), privateKey)]);
  },
});

/** Verifies the cosignatures of a witness. Accepts any time. */
export function cosignatureVerifier(key: VerifierKey): Verifier {
  const publicKey = publicKeyOf(key.publicKey);
  return {
    name: key.name,
    id: keyId(key),
    verify: (text, signature) =>
      signature.length === TIMESTAMP_SIZE + SIGNATURE_SIZE &&
      secondsOf(signature) <= MAX_TIMESTAMP &&
      verify(null, message(secondsOf(signature), text), publicKey, signature.subarray(TIMESTAMP_SIZE)),
  };
}

/** The time of a verified cosignature, in milliseconds since 1970. */
export const cosignedAt = (signature: Uint8Array): number => Number(secondsOf(signature)) * 1_000;

const secondsOf = ({ buffer, byteOffset }: Uint8Array): bigint => new DataView(buffer, byteOffset).getBigUint64(0);

const message = (seconds: bigint, checkpoint: string): Uint8Array =>
  Buffer.from(`cosignature/v1\ntime ${seconds}\n${checkpoint}`);
