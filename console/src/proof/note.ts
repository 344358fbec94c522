import { type Bytes, fromBase64, hexOf, utf8 } from './bytes.ts';
import { sha256 } from './hash.ts';
import { NotVerified } from './outcome.ts';

/** Kinds of signatures, by their identifying byte (c2sp.org/signed-note, "Signature types"). */
const ED25519 = 1;
const COSIGNATURE = 4;

const ID_SIZE = 4;
const KEY_SIZE = 32;
const SIGNATURE_SIZE = 64;
const TIMESTAMP_SIZE = 8;
/** Most signatures that are read. */
const MAX_SIGNATURES = 100;

const NAME = /^[^+\p{White_Space}\p{Cc}]+$/u;
const LINE = /^— (\S+) (\S+)$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: which ones a note may not have is what it says
const CONTROL = /[\x00-\x09\x0b-\x1f]/;

/** A public key, and the name of its claimed owner. */
export interface VerifierKey {
  readonly name: string;
  /** Eight hexadecimal digits. */
  readonly id: string;
  /** `log`: it signs checkpoints of its own log. `witness`: it cosigns those of others. */
  readonly of: 'log' | 'witness';
  readonly publicKey: Bytes;
  /** The vkey that it was read from. */
  readonly vkey: string;
}

/** A signature line of a note, not verified. */
export interface Signature {
  readonly name: string;
  readonly id: string;
  /** What follows the id. */
  readonly bytes: Bytes;
}

/** A signed note, not verified. */
export interface Note {
  /** The signed text; it ends with a line feed. */
  readonly text: string;
  readonly signatures: readonly Signature[];
}

/** The key of a vkey (c2sp.org/signed-note, "Verifier keys"). Rejects, with the reason, if it is not one. */
export async function parseVerifierKey(vkey: string): Promise<VerifierKey> {
  const [, name, id, encoded] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? [];
  if (name === undefined || !NAME.test(name))
    throw new Error('a vkey has the form <name>+<8 hexadecimal digits>+<base64>');
  const material = fromBase64(encoded!);
  const type = material[0];
  if (material.length !== 1 + KEY_SIZE || (type !== ED25519 && type !== COSIGNATURE))
    throw new Error('the vkey does not hold an Ed25519 key for notes or cosignatures');
  const digest = await sha256(utf8(`${name}\n`), material);
  if (hexOf(digest.subarray(0, ID_SIZE)) !== id) throw new Error("the vkey's id is not that of its name and key");
  return { name, id: id!, of: type === ED25519 ? 'log' : 'witness', publicKey: material.slice(1), vkey };
}

/** The parts of a signed note. Throws, with the reason, if it is malformed. */
export function parseNote(note: string): Note {
  const blank = note.lastIndexOf('\n\n');
  if (CONTROL.test(note) || blank < 0 || !note.endsWith('\n')) throw new Error('it is not a signed note');
  const lines = note.slice(blank + 2, -1).split('\n');
  if (lines.length > MAX_SIGNATURES) throw new Error(`it has more than ${MAX_SIGNATURES} signatures`);
  return { text: note.slice(0, blank + 1), signatures: lines.map(parseSignature) };
}

function parseSignature(line: string): Signature {
  const [, name, encoded] = LINE.exec(line) ?? [];
  if (name === undefined || !NAME.test(name)) throw new Error('a line after its last empty line is not a signature');
  const bytes = fromBase64(encoded!);
  if (bytes.length <= ID_SIZE) throw new Error('one of its signatures is too short');
  return { name, id: hexOf(bytes.subarray(0, ID_SIZE)), bytes: bytes.slice(ID_SIZE) };
}

/** The first signature of a note that names a key. */
export const signatureOf = ({ signatures }: Note, key: VerifierKey): Signature | undefined =>
  signatures.find(({ name, id }) => name === key.name && id === key.id);

/** Whether a log's key made a signature under a text. */
export async function isSigned(text: string, { bytes }: Signature, { publicKey }: VerifierKey): Promise<boolean> {
  return bytes.length === SIGNATURE_SIZE && verify(publicKey, bytes, utf8(text));
}

/** When a witness cosigned a checkpoint, in milliseconds since 1970; undefined if it did not (c2sp.org/tlog-cosignature). */
export async function cosignedAt(
  text: string,
  { bytes }: Signature,
  { publicKey }: VerifierKey,
): Promise<number | undefined> {
  if (bytes.length !== TIMESTAMP_SIZE + SIGNATURE_SIZE) return undefined;
  const seconds = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0);
  const signed = await verify(publicKey, bytes.slice(TIMESTAMP_SIZE), utf8(`cosignature/v1\ntime ${seconds}\n${text}`));
  return signed ? Number(seconds) * 1_000 : undefined;
}

async function verify(publicKey: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']).catch((error) => {
    throw new NotVerified('This browser cannot check Ed25519 signatures. Newer browsers can.', error);
  });
  return crypto.subtle.verify('Ed25519', key, signature, message);
}
