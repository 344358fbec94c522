import { createPublicKey, type KeyObject } from 'node:crypto';
import { sha256 } from './hash.ts';

/** Kinds of signatures by the byte that identifies them (c2sp.org/signed-note, "Signature types"). */
export const SIGNATURE_TYPE = {
  /** Ed25519 over the text of the note (RFC 8032). */
  ed25519: 0x01,
  /** Ed25519 over a checkpoint and the time at which a witness saw it (c2sp.org/tlog-cosignature). */
  cosignature: 0x04,
} as const;

/** One of the kinds of signatures that are known here. */
export type SignatureType = (typeof SIGNATURE_TYPE)[keyof typeof SIGNATURE_TYPE];

/** A key that verifies signatures, and whose it is said to be (c2sp.org/signed-note, "Verifier keys"). */
export interface VerifierKey {
  /** Not empty, without Unicode spaces and plus. */
  readonly name: string;
  readonly type: SignatureType;
  /** The public key as RFC 8032 encodes it, 32 bytes. */
  readonly publicKey: Uint8Array;
}

const PUBLIC_KEY_SIZE = 32;

const NAME = /^[^+\p{White_Space}\p{Cc}]+$/u;

/** Whether a text may be the name of a key. */
export const isKeyName = (text: string): boolean => NAME.test(text) && text.isWellFormed();

/** The uint32 that signature lines name a key by: SHA-256(name || 0x0A || type || public key)[:4]. */
export function keyId({ name, type, publicKey }: VerifierKey): number {
  const digest = sha256(Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), publicKey]));
  return new DataView(digest.buffer, digest.byteOffset).getUint32(0);
}

/** A vkey: `<name>+<hex of the key's id>+<base64 of type and public key>`. */
export function formatVerifierKey(key: VerifierKey): string {
  const id = keyId(key).toString(16).padStart(8, '0');
  return `${key.name}+${id}+${Buffer.from([key.type, ...key.publicKey]).toString('base64')}`;
}

/** The key that a vkey holds. Throws, with the reason, when it is none of a type that is known here. */
export function parseVerifierKey(text: string): VerifierKey {
  const [name = '', , ...rest] = text.split('+');
  // The base64 may have a plus of its own.
  const material = Buffer.from(rest.join('+'), 'base64');
  const type = Object.values(SIGNATURE_TYPE).find((known) => known === material[0]);
  if (!isKeyName(name)) throw new Error('malformed vkey: it does not begin with the name of a key');
  if (type === undefined || material.length !== 1 + PUBLIC_KEY_SIZE)
    throw new Error('the vkey is not that of an Ed25519 key of type 1 (notes) or 4 (cosignatures)');
  const key = { name, type, publicKey: Uint8Array.from(material.subarray(1)) };
  if (formatVerifierKey(key) !== text)
    throw new Error("malformed vkey: its id is not that of the key's name and bytes");
  return key;
}

/** The public half of an Ed25519 key as RFC 8032 encodes it. */
export const publicKeyBytes = (key: KeyObject): Uint8Array =>
  Buffer.from((key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' }).x!, 'base64url');

/** The key that RFC 8032 encodes as these 32 bytes. */
export const publicKeyOf = (bytes: Uint8Array): KeyObject =>
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bytes).toString('base64url') },
    format: 'jwk',
  });
