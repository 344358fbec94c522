import type { Checkpoint } from './checkpoint.ts';
import { cosignedAt, parseVerifierKey, signatureOf, type VerifierKey } from './note.ts';
import { type Findings, NotVerified } from './outcome.ts';
import { momentOf } from './words.ts';

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

/** The key of a witness in its vkey. Throws, with the reason, if it is not one. */
export async function parseWitnessKey(vkey: string): Promise<VerifierKey> {
  const key = await parseVerifierKey(vkey);
  if (key.of !== 'witness') throw new Error(`${key.name} is the key of a log, not that of a witness`);
  return key;
}

/** Checks the cosignatures on a checkpoint with the vkeys of trusted witnesses. Rejects with NotVerified if one is wrong. */
export async function checkCosignatures(
  { note, origin }: Checkpoint,
  witnesses: readonly string[],
  findings: Findings,
): Promise<Cosignatures> {
  const keys = await Promise.all(witnesses.map(parseWitnessKey));
  const verified = new Map<string, number>();
  for (const key of keys) {
    const signature = signatureOf(note, key);
    const time = signature && (await cosignedAt(note.text, signature, key));
    if (signature !== undefined && time === undefined)
      throw new NotVerified(`The cosignature of the witness ${key.name} on the checkpoint is wrong.`);
    if (time === undefined) findings.unchecked.push(`The witness ${key.name}, which you trust, has not cosigned it.`);
    else {
      verified.set(`${key.name}+${key.id}`, time);
      findings.checked.push(`The witness ${key.name} cosigned the checkpoint at ${momentOf(time)}.`);
    }
  }
  const all = note.signatures
    .filter(({ name }) => name !== origin)
    .map(({ name, id }) => ({ witness: name, time: verified.get(`${name}+${id}`) }));
  const unknown = all.filter(({ time }) => time === undefined).map(({ witness }) => witness);
  if (unknown.length > 0)
    findings.unchecked.push(`Cosignatures in the name of ${unknown.join(', ')}: their keys are unknown here.`);
  if (verified.size === 0)
    findings.unchecked.push('That others see the same log: no witness that you trust has cosigned it.');
  return { all, trusted: keys.length, cosigned: verified.size };
}
