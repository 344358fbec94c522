import type { Record } from '../../../gen/plantstore/v1/event_pb.ts';
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

/**
 * What is proved: an event, if the proof is of one, and the checkpoint that covers it, with what witnesses say of it.
 */
export interface Proven {
  readonly record?: Record;
  readonly checkpoint: NotedCheckpoint;
  readonly cosignatures: Cosignatures;
}

/**
 * What witnesses say about a checkpoint: each signature that is not its log's, with the time in milliseconds since
 * 1970, or undefined if the witness's key is unknown here, so that it is not checked; how many witnesses are trusted
 * here, and how many of them cosigned. The page cannot know the operator's quorum.
 */
export type Cosignatures = ReturnType<typeof checkCosignatures>;

/** Checks the cosignatures on a checkpoint with the vkeys of trusted witnesses. Throws NotVerified if one is wrong. */
export function checkCosignatures({ note, origin }: NotedCheckpoint, witnesses: readonly string[], findings: Findings) {
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
