import { isKeyName } from './verifier-key.ts';

/** Signs the texts of notes with one key. */
export interface Signer {
  /** Name of the key. */
  readonly name: string;
  /** Id of the key, a uint32. */
  readonly id: number;
  /** The signature of a text, without the key's id. */
  sign(text: string): Uint8Array;
}

/** Verifies the signatures of one key. */
export interface Verifier {
  readonly name: string;
  readonly id: number;
  /** Whether a signature, without the key's id, is the key's own of a text. */
  verify(text: string, signature: Uint8Array): boolean;
}

/** A signature line of a note. Whose it is said to be counts for nothing until it is verified. */
export interface Signature {
  readonly name: string;
  readonly id: number;
  /** What follows the id. */
  readonly bytes: Uint8Array;
}

/** A signed note (c2sp.org/signed-note) of which no signature is verified. */
export interface UnverifiedNote {
  /** Ends with a line feed. */
  readonly text: string;
  readonly signatures: readonly Signature[];
}

/** A signed note, at least one of whose signatures is that of a key that is trusted. */
export interface Note {
  readonly text: string;
  /** The signatures of trusted keys, one of each. All are right. */
  readonly verified: readonly Signature[];
}

/** A text is not a signed note, or is not signed by whom it has to be signed. */
export class NoteError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NoteError';
  }
}

/** Signatures that a note may have; the specification wants at least 16. */
const MAX_SIGNATURES = 100;

const ID_SIZE = 4;

// biome-ignore lint/suspicious/noControlCharactersInRegex: which ones a note may not have is what it says
const CONTROL = /[\x00-\x09\x0b-\x1f]/;
const LINE = /^— (\S+) (\S+)$/;

/** The signature lines of a note, each with its line feed. */
export const formatSignature = ({ name, id, bytes }: Signature): string => {
  const encoded = Buffer.alloc(ID_SIZE + bytes.length);
  encoded.writeUInt32BE(id);
  encoded.set(bytes, ID_SIZE);
  return `— ${name} ${encoded.toString('base64')}\n`;
};

/** The signature that a key gives a text. */
export const signatureOf = (text: string, signer: Signer): Signature => ({
  name: signer.name,
  id: signer.id,
  bytes: signer.sign(text),
});

/** The signed note of a text that ends with a line feed. Throws NoteError for a text that no note may have. */
export function signNote(text: string, signers: readonly Signer[]): string {
  if (!text.endsWith('\n') || CONTROL.test(text) || !text.isWellFormed())
    throw new NoteError('the text of a note ends with a line feed and has no other control character');
  return `${text}\n${signers.map((signer) => formatSignature(signatureOf(text, signer))).join('')}`;
}

/** Signature lines, as a note has them and as a witness answers. Throws NoteError for anything else. */
export function parseSignatures(lines: string): Signature[] {
  if (!lines.endsWith('\n')) throw new NoteError('malformed note: it does not end with a signature line');
  const texts = lines.slice(0, -1).split('\n');
  if (texts.length > MAX_SIGNATURES) throw new NoteError(`the note has more than ${MAX_SIGNATURES} signatures`);
  return texts.map((line) => {
    const [, name = '', encoded = ''] = LINE.exec(line) ?? [];
    const bytes = Buffer.from(encoded, 'base64');
    if (!isKeyName(name) || bytes.length <= ID_SIZE || bytes.toString('base64') !== encoded)
      throw new NoteError('malformed note: a line after its last empty line is no signature');
    return { name, id: bytes.readUInt32BE(), bytes: bytes.subarray(ID_SIZE) };
  });
}

/** The parts of a signed note, none verified. Throws NoteError when it is not a well-formed one. */
export function parseNote(note: string): UnverifiedNote {
  if (CONTROL.test(note) || !note.isWellFormed())
    throw new NoteError('malformed note: it is not UTF-8 text without control characters');
  const blank = note.lastIndexOf('\n\n');
  if (blank < 0) throw new NoteError('malformed note: no empty line stands before its signatures');
  return { text: note.slice(0, blank + 1), signatures: parseSignatures(note.slice(blank + 2)) };
}

/**
 * Opens a signed note: what is not signed by a trusted key must not be looked at. Signatures of unknown keys are passed over.
 * Throws NoteError when the note is malformed, when a signature of a trusted key is wrong, or when there is none.
 */
export function openNote(note: string, trusted: readonly Verifier[]): Note {
  const { text, signatures } = parseNote(note);
  const verified = verifiedSignatures(text, signatures, trusted);
  if (verified.length === 0) throw new NoteError('none of the trusted keys has signed the note');
  return { text, verified };
}

/** Those signatures of a text that trusted keys have given it, one of each. Throws NoteError when one of them is wrong. */
export function verifiedSignatures(
  text: string,
  signatures: readonly Signature[],
  trusted: readonly Verifier[],
): Signature[] {
  const verified = new Map<Verifier, Signature>();
  for (const signature of signatures) {
    const verifier = trusted.find(({ name, id }) => name === signature.name && id === signature.id);
    if (verifier === undefined || verified.has(verifier)) continue;
    if (!verifier.verify(text, signature.bytes)) throw new NoteError(`the signature of ${verifier.name} is wrong`);
    verified.set(verifier, signature);
  }
  return [...verified.values()];
}
