import { hashes, verify } from '@noble/ed25519';
import { sha256 as digest, sha512 } from '@noble/hashes/sha2.js';

// What crypto.ts is in Node. WebCrypto would be asynchronous, and pages over plain http do not have it.
hashes.sha512 = sha512;

/** SHA-256. */
export const sha256 = (data: Uint8Array): Uint8Array => digest(data);

/** Verifies signatures of the Ed25519 key with this 32-byte encoding (RFC 8032). */
export const ed25519Verifier =
  (publicKey: Uint8Array): ((message: Uint8Array, signature: Uint8Array) => boolean) =>
  (message, signature) =>
    verify(signature, message, publicKey, { zip215: false });
