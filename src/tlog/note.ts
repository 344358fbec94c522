import { concat, fromBase64, toBase64, utf8, viewOf } from './bytes.ts';
import { ed25519Verifier } from './crypto.ts';
import { isKeyName, keyId, nameOfKey, nameOfVerifierKey, SIGNATURE_TYPE, type VerifierKey } from './verifier-key.ts';

/** Signs the texts of notes with one key. */
export interface Signer {
  /** What verifies its signatures. */
  readonly key: VerifierKey;
  sign(text: string): Signature;
}

/** A signature line of a note. Name and id are untrusted until the signature is verified. */
export interface Signature {
  readonly name: string;
  readonly id: number;
  /** The signature without the id. */
  readonly bytes: Uint8Array;
}

/** A signed note (c2sp.org/signed-note) without verified signatures. */
export interface UnverifiedNote {
  /** Ends with a line feed. */
  readonly text: string;
  readonly signatures: readonly Signature[];
}

/** Most signatures of a note. The specification requires support for at least 16. */
const MAX_SIGNATURES = 100;

const ID_SIZE = 4;

// biome-ignore lint/suspicious/noControlCharactersInRegex: it lists the control characters that a note must not have
const CONTROL = /[\x00-\x09\x0b-\x1f]/;
// What a name may have is isKeyName's to say: \S leaves out U+FEFF, which is no space of Unicode.
const LINE = /^— ([^ ]+) ([^ ]+)$/;

/** A signature line of a note, with its line feed. */
export const formatSignature = ({ name, id, bytes }: Signature): string => {
  const encoded = concat(new Uint8Array(ID_SIZE), bytes);
  viewOf(encoded).setUint32(0, id);
  return `— ${name} ${toBase64(encoded)}\n`;
};

/** The signed note of a text, which must end with a line feed. Throws for one that no note may have. */
export function signNote(text: string, signers: readonly Signer[]): string {
  if (!text.endsWith('\n') || CONTROL.test(text) || !text.isWellFormed())
    throw new Error('the text of a note must end with a line feed and have no other control characters');
  return `${text}\n${signers.map((signer) => formatSignature(signer.sign(text))).join('')}`;
}

/** Parses signature lines of a note, or of a witness's response. Throws for anything else. */
export function parseSignatures(lines: string): Signature[] {
  if (!lines.endsWith('\n')) throw new Error('malformed note: it does not end with a signature line and one line feed');
  const texts = lines.slice(0, -1).split('\n');
  if (texts.length > MAX_SIGNATURES) throw new Error(`the note has more than ${MAX_SIGNATURES} signatures`);
  return texts.map((line) => {
    const [, name = '', encoded = ''] = LINE.exec(line) ?? [];
    const bytes = fromBase64(encoded);
    if (!isKeyName(name) || bytes === undefined || bytes.length <= ID_SIZE)
      throw new Error('malformed note: a line after its last empty line is not a signature');
    return { name, id: viewOf(bytes).getUint32(0), bytes: bytes.subarray(ID_SIZE) };
  });
}

/** Parses a signed note without verifying it. Throws if it is malformed. */
export function parseNote(note: string): UnverifiedNote {
  if (CONTROL.test(note) || !note.isWellFormed())
    throw new Error('malformed note: it must be UTF-8 text without control characters');
  const blank = note.lastIndexOf('\n\n');
  if (blank < 0) throw new Error('malformed note: it has no empty line before its signatures');
  return { text: note.slice(0, blank + 1), signatures: parseSignatures(note.slice(blank + 2)) };
}

/**
 * Verifies a signed note; its text must not be used before. Adds the verified signatures of trusted keys, one per key,
 * and ignores those of unknown keys. Throws if the note is malformed, a signature of a trusted key is invalid, or there
 * is none.
 */
export function openNote(note: string, trusted: readonly VerifierKey[]) {
  const parsed = parseNote(note);
  const verified = trusted.flatMap((key) => signatureBy(key, parsed) ?? []);
  if (verified.length === 0)
    throw new Error(
      `no signature by ${trusted.map(nameOfVerifierKey).join(', ')}; it is signed by ${signersOf(parsed)}`,
    );
  return { ...parsed, verified };
}

/** The keys that a note says have signed it. */
export const signersOf = ({ signatures }: UnverifiedNote): string => signatures.map(nameOfKey).join(', ');

/** The signature of a note by a key. Undefined: there is none. Throws if it is invalid. */
export function signatureBy(key: VerifierKey, { text, signatures }: UnverifiedNote): Signature | undefined {
  const id = keyId(key);
  const signature = signatures.find((one) => one.name === key.name && one.id === id);
  if (signature !== undefined && !isSignature(key, text, signature.bytes))
    throw new Error(`the signature of ${key.name} is invalid`);
  return signature;
}

/** Bytes of the time in a cosignature, which its Ed25519 signature follows. */
const TIMESTAMP_SIZE = 8;
const SIGNATURE_SIZE = 64;
const MAX_TIMESTAMP = 2n ** 63n - 1n;

/** Whether this is a signature of a text by a key, of the key's type. A cosignature may be of any time. */
function isSignature({ type, publicKey }: VerifierKey, text: string, signature: Uint8Array): boolean {
  const verify = ed25519Verifier(publicKey);
  if (type === SIGNATURE_TYPE.ed25519) return signature.length === SIGNATURE_SIZE && verify(utf8(text), signature);
  return (
    signature.length === TIMESTAMP_SIZE + SIGNATURE_SIZE &&
    secondsOf(signature) <= MAX_TIMESTAMP &&
    verify(cosignedMessage(secondsOf(signature), text), signature.subarray(TIMESTAMP_SIZE))
  );
}

/** What a witness signs under a checkpoint (c2sp.org/tlog-cosignature, "Ed25519 signed message"). */
export const cosignedMessage = (seconds: bigint, checkpoint: string): Uint8Array =>
  utf8(`cosignature/v1\ntime ${seconds}\n${checkpoint}`);

/** The time of a verified cosignature, in milliseconds since 1970. */
export const cosignedAt = (signature: Uint8Array): number => Number(secondsOf(signature)) * 1_000;

const secondsOf = (signature: Uint8Array): bigint => viewOf(signature).getBigUint64(0);
