import { type KeyObject, sign, verify } from 'node:crypto';
import type { Signer, Verifier } from './note.ts';
import { keyId, publicKeyBytes, publicKeyOf, SIGNATURE_TYPE, type VerifierKey } from './verifier-key.ts';

/** The verifier key of a signer of notes: its name and Ed25519 key. */
export const noteKey = (name: string, key: KeyObject): VerifierKey => ({
  name,
  type: SIGNATURE_TYPE.ed25519,
  publicKey: publicKeyBytes(key),
});

/** Signs the texts of notes with an Ed25519 private key (c2sp.org/signed-note, "Ed25519 signatures"). */
export const noteSigner = (name: string, privateKey: KeyObject): Signer => ({
  name,
  id: keyId(noteKey(name, privateKey)),
  sign: (text) => sign(null, Buffer.from(text), privateKey),
});

/** Verifies the signatures of an Ed25519 key that signs notes. */
export function noteVerifier(key: VerifierKey): Verifier {
  const publicKey = publicKeyOf(key.publicKey);
  return {
    name: key.name,
    id: keyId(key),
    verify: (text, signature) => verify(null, Buffer.from(text), publicKey, signature),
  };
}
