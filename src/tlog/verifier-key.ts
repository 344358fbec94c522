import { concat, fromBase64, toBase64, utf8, viewOf } from './bytes.ts';
import { sha256 } from './hash.ts';

/** The supported signature types and their bytes (c2sp.org/signed-note, "Signature types"). */
export const SIGNATURE_TYPE = {
  /** Ed25519 over the text of the note (RFC 8032). */
  ed25519: 0x01,
  /** Ed25519 over a checkpoint and the time at which a witness saw it (c2sp.org/tlog-cosignature). */
  cosignature: 0x04,
} as const;

/** A supported signature type. */
export type SignatureType = (typeof SIGNATURE_TYPE)[keyof typeof SIGNATURE_TYPE];

/** A public key with its name (c2sp.org/signed-note, "Verifier keys"). */
export interface VerifierKey {
  /** Not empty, without Unicode spaces or plus signs. */
  readonly name: string;
  readonly type: SignatureType;
  /** The public key as RFC 8032 encodes it, 32 bytes. */
  readonly publicKey: Uint8Array;
}

const PUBLIC_KEY_SIZE = 32;

const NAME = /^[^+\p{White_Space}\p{Cc}]+$/u;

/** Whether a text may be the name of a key. */
export const isKeyName = (text: string): boolean => NAME.test(text) && text.isWellFormed();

/** The key id in signature lines, a uint32: SHA-256(name || 0x0A || type || public key)[:4]. */
export function keyId({ name, type, publicKey }: VerifierKey): number {
  return viewOf(sha256(concat(utf8(`${name}\n`), Uint8Array.of(type), publicKey))).getUint32(0);
}

/** A key id in hexadecimal, as a vkey has it. */
export const formatKeyId = (id: number): string => id.toString(16).padStart(8, '0');

/** A key as a vkey begins: keys of one name differ in their ids. */
export const nameOfKey = ({ name, id }: { readonly name: string; readonly id: number }): string =>
  `${name}+${formatKeyId(id)}`;

/** The same of the key in a vkey. */
export const nameOfVerifierKey = (key: VerifierKey): string => nameOfKey({ name: key.name, id: keyId(key) });

/** Formats a vkey: `<name>+<hex of the key's id>+<base64 of type and public key>`. */
export function formatVerifierKey(key: VerifierKey): string {
  return `${nameOfVerifierKey(key)}+${toBase64(concat(Uint8Array.of(key.type), key.publicKey))}`;
}

/** Parses a vkey. Throws, with the reason, if it is malformed or has an unsupported type. */
export function parseVerifierKey(text: string): VerifierKey {
  const [name = '', , ...rest] = text.split('+');
  // The base64 may contain plus signs too.
  const material = fromBase64(rest.join('+'));
  const type = Object.values(SIGNATURE_TYPE).find((known) => known === material?.[0]);
  if (!isKeyName(name) || rest.length === 0)
    throw new Error('a vkey has the form <name>+<8 hexadecimal digits>+<base64>');
  if (type === undefined || material?.length !== 1 + PUBLIC_KEY_SIZE)
    throw new Error('the vkey is not that of an Ed25519 key of type 1 (notes) or 4 (cosignatures)');
  const key = { name, type, publicKey: material.slice(1) };
  if (formatVerifierKey(key) !== text) throw new Error('malformed vkey: its id does not match its name and key');
  return key;
}

/** The key of a witness in its vkey. Throws, with the reason, if it is not one. */
export const parseWitnessKey = (vkey: string): VerifierKey =>
  keyOfType(SIGNATURE_TYPE.cosignature, vkey, 'is the key of a log, not that of a witness');

/** The key of a log in its vkey. Throws, with the reason, if it is not one. */
export const parseLogKey = (vkey: string): VerifierKey =>
  keyOfType(SIGNATURE_TYPE.ed25519, vkey, 'is the key of a witness, not that of a log');

function keyOfType(type: SignatureType, vkey: string, otherwise: string): VerifierKey {
  const key = parseVerifierKey(vkey);
  if (key.type !== type) throw new Error(`${key.name} ${otherwise}`);
  return key;
}
