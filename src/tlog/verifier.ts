import { cosignatureVerifier } from './cosignature.ts';
import { noteVerifier } from './ed25519.ts';
import type { Verifier } from './note.ts';
import { SIGNATURE_TYPE, type VerifierKey } from './verifier-key.ts';

/** The verifier for a key's type of signatures. */
export const verifierOf = (key: VerifierKey): Verifier =>
  key.type === SIGNATURE_TYPE.cosignature ? cosignatureVerifier(key) : noteVerifier(key);
