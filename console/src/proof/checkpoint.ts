import { type NotedCheckpoint, openCheckpoint as signedCheckpoint } from '../../../src/tlog/checkpoint.ts';
import { cosignedAt, signatureBy } from '../../../src/tlog/note.ts';
import { parseWitnessKey, type VerifierKey } from '../../../src/tlog/verifier-key.ts';
import { momentOf } from '../times.ts';
import { type Findings, orNotVerified } from './outcome.ts';

/** The checkpoint in a signed note. Throws NotVerified unless the key of its log has signed it. */
export const openCheckpoint = (text: string, key: VerifierKey): NotedCheckpoint =>
  orNotVerified(
    () => signedCheckpoint(text, key),
    (why) => `The checkpoint is not valid: ${why}.`,
  );

/** A signature on a checkpoint that is not its log's. */
export interface Cosignature {
  readonly witness: string;
  /** When it was made, in milliseconds since 1970; undefined if the witness's key is unknown here, so it is not checked. */
  readonly time: number | undefined;
}

/** What witnesses say about a checkpoint. */
export interface Cosignatures {
  readonly all: readonly Cosignature[];
  /** How many witnesses are trusted here, and how many of them cosigned. The page cannot know the operator's quorum. */
  readonly trusted: number;
  readonly cosigned: number;
}

/** Checks the cosignatures on a checkpoint with the vkeys of trusted witnesses. Throws NotVerified if one is wrong. */
export function checkCosignatures(
  { note, origin }: NotedCheckpoint,
  witnesses: readonly string[],
  findings: Findings,
): Cosignatures {
  const times = new Map<string, number>();
  for (const key of witnesses.map(parseWitnessKey)) {
    const signature = orNotVerified(
      () => signatureBy(key, note),
      () => `The cosignature of the witness ${key.name} on the checkpoint is wrong.`,
    );
    if (signature === undefined)
      findings.unchecked.push(`The witness ${key.name}, which you trust, has not cosigned it.`);
    else {
      const time = cosignedAt(signature.bytes);
      times.set(`${signature.name}+${signature.id}`, time);
      findings.checked.push(`The witness ${key.name} cosigned the checkpoint at ${momentOf(time)}.`);
    }
  }
  const all = note.signatures
    .filter(({ name }) => name !== origin)
    .map(({ name, id }) => ({ witness: name, time: times.get(`${name}+${id}`) }));
  const unknown = all.filter(({ time }) => time === undefined).map(({ witness }) => witness);
  if (unknown.length > 0)
    findings.unchecked.push(`Cosignatures in the name of ${unknown.join(', ')}: their keys are unknown here.`);
  if (times.size === 0)
    findings.unchecked.push('That others see the same log: no witness that you trust has cosigned it.');
  return { all, trusted: witnesses.length, cosigned: times.size };
}
