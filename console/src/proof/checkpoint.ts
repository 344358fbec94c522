import { type Checkpoint, parseCheckpoint } from '../../../src/tlog/checkpoint.ts';
import { parseNote, type UnverifiedNote, verifiedSignatures, verifierOf } from '../../../src/tlog/note.ts';
import { formatKeyId, SIGNATURE_TYPE, type VerifierKey } from '../../../src/tlog/verifier-key.ts';
import { NotVerified, orNotVerified } from './outcome.ts';

/** A checkpoint, and the note that its log and witnesses have signed. */
export interface NotedCheckpoint extends Checkpoint {
  readonly note: UnverifiedNote;
}

/** The checkpoint in a signed note, not verified. Throws NotVerified if there is none. */
export const readCheckpoint = (text: string): NotedCheckpoint =>
  orNotVerified(
    () => {
      const note = parseNote(text);
      return { ...parseCheckpoint(note.text), note };
    },
    (why) => `The checkpoint is malformed: ${why}.`,
  );

/** The checkpoint in a signed note. Throws NotVerified unless the key of its log has signed it. */
export function openCheckpoint(text: string, key: VerifierKey): NotedCheckpoint {
  const checkpoint = readCheckpoint(text);
  const { origin, note } = checkpoint;
  if (key.type !== SIGNATURE_TYPE.ed25519)
    throw new NotVerified(`The key ${key.name} is that of a witness, not that of a log.`);
  if (origin !== key.name) throw new NotVerified(`The checkpoint is from the log ${origin}, not from ${key.name}.`);
  const [signature] = orNotVerified(
    () => verifiedSignatures(note.text, note.signatures, [verifierOf(key)]),
    () => `The signature of ${key.name} on the checkpoint is wrong: the checkpoint was changed.`,
  );
  if (signature === undefined)
    throw new NotVerified(`The key ${formatKeyId(key)} of ${key.name} has not signed the checkpoint.`);
  return checkpoint;
}
