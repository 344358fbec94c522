import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { cosignedMessage, type Signer } from './note.ts';
import { keyId, SIGNATURE_TYPE, type SignatureType } from './verifier-key.ts';

/** Signs the texts of notes with an Ed25519 private key (c2sp.org/signed-note, "Ed25519 signatures"). */
export const noteSigner = (name: string, privateKey: KeyObject): Signer =>
  signerOf(SIGNATURE_TYPE.ed25519, name, privateKey, (text) => sign(null, Buffer.from(text), privateKey));

/**
 * Cosigns checkpoints (c2sp.org/tlog-cosignature, "Ed25519 signed message"). A cosignature states that the witness has
 * seen this tree, and none inconsistent with it, as of now. `clock` gives milliseconds since 1970.
 */
export function cosigner(name: string, privateKey: KeyObject, clock: () => number = Date.now): Signer {
  let last = 0;
  return signerOf(SIGNATURE_TYPE.cosignature, name, privateKey, (text) => {
    // With a clock that was set back, an earlier cosignature would state that it had not seen this tree yet.
    last = Math.max(last, clock());
    const seconds = BigInt(Math.floor(last / 1_000));
    const timestamp = Buffer.alloc(8);
    timestamp.writeBigUInt64BE(seconds);
    return Buffer.concat([timestamp, sign(null, cosignedMessage(seconds, text), privateKey)]);
  });
}

function signerOf(
  type: SignatureType,
  name: string,
  privateKey: KeyObject,
  signed: (text: string) => Uint8Array,
): Signer {
  const publicKey = Buffer.from(createPublicKey(privateKey).export({ format: 'jwk' }).x!, 'base64url');
  const key = { name, type, publicKey };
  const id = keyId(key);
  return { key, sign: (text) => ({ name, id, bytes: signed(text) }) };
}
