import { type Bytes, fromBase64 } from './bytes.ts';
import { HASH_SIZE } from './hash.ts';
import { isSigned, type Note, parseNote, signatureOf, type VerifierKey } from './note.ts';
import { NotVerified } from './outcome.ts';

/** What a log has signed about itself (c2sp.org/tlog-checkpoint). */
export interface Checkpoint {
  /** Names the log. */
  readonly origin: string;
  /** Events that the log had. */
  readonly size: number;
  /** Root of the tree of these events. */
  readonly root: Bytes;
  readonly note: Note;
}

/** The checkpoint in a signed note, not verified. Throws NotVerified if there is none. */
export function parseCheckpoint(text: string): Checkpoint {
  try {
    const note = parseNote(text);
    const [origin = '', size = '', root = '', ...rest] = note.text.split('\n');
    const isWhole = rest.pop() === '' && rest.every((extension) => extension !== '');
    if (!isWhole || origin === '' || !/^(0|[1-9]\d*)$/.test(size) || !Number.isSafeInteger(Number(size)))
      throw new Error('it does not begin with an origin, a size and a root');
    const hash = fromBase64(root);
    if (hash.length !== HASH_SIZE) throw new Error('its root is not a hash');
    return { origin, size: Number(size), root: hash, note };
  } catch (error) {
    throw new NotVerified(`The checkpoint is malformed: ${(error as Error).message}.`, error);
  }
}

/** The checkpoint in a signed note. Rejects with NotVerified unless the key of its log has signed it. */
export async function openCheckpoint(text: string, key: VerifierKey): Promise<Checkpoint> {
  const checkpoint = parseCheckpoint(text);
  const { origin, note } = checkpoint;
  if (key.of !== 'log') throw new NotVerified(`The key ${key.name} is that of a witness, not that of a log.`);
  if (origin !== key.name) throw new NotVerified(`The checkpoint is from the log ${origin}, not from ${key.name}.`);
  const signature = signatureOf(note, key);
  if (signature === undefined) throw new NotVerified(`The key ${key.id} of ${key.name} has not signed the checkpoint.`);
  if (!(await isSigned(note.text, signature, key)))
    throw new NotVerified(`The signature of ${key.name} on the checkpoint is wrong: the checkpoint was changed.`);
  return checkpoint;
}
