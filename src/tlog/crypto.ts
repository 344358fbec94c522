import { createPublicKey, hash, verify } from 'node:crypto';

// The console's bundle has crypto.browser.ts in place of this file (package.json, "browser").

/** SHA-256. Goes through a binary string, because Node takes more than twice as long to return a Buffer. */
export const sha256 = (data: Uint8Array): Uint8Array => Buffer.from(hash('sha256', data, 'binary'), 'binary');

/** Verifies signatures of the Ed25519 key with this 32-byte encoding (RFC 8032). */
export function ed25519Verifier(publicKey: Uint8Array): (message: Uint8Array, signature: Uint8Array) => boolean {
  const x = Buffer.from(publicKey).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return (message, signature) => verify(null, message, key, signature);
}
