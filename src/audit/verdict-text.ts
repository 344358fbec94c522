import type { Failure } from './checks/check.ts';
import { headMembers } from './formats/event-json.ts';
import type { Verdict } from './verify.ts';

/** A verdict for machines: one JSON object without line breaks. */
export const verdictJson = ({ ok, head, checkpoint, answers }: Verdict): string =>
  JSON.stringify({
    ok,
    head: head && headMembers(head),
    checkpoint,
    answers: answers.map(({ question, failure }) => ({
      question,
      ok: failure === undefined,
      ...(failure && failureMembers(failure)),
    })),
  });

const failureMembers = ({ position, plant, message }: Failure) => ({
  position,
  ...(plant && { owner: plant.owner, plantId: JSON.rawJSON(String(plant.id)) }),
  message,
});

/** A verdict for people. */
export function verdictText({ ok, head, checkpoint, answers }: Verdict): string {
  return [
    ...answers.map(({ question, failure }) => `${question.padEnd(12)} ${failure ? `NO   ${placeOf(failure)}` : 'yes'}`),
    '',
    `${ok ? 'whole' : 'NOT WHOLE'}: ${scopeOf(head)}`,
    ...(checkpoint === undefined ? [] : [`compared with the read model at position ${checkpoint}`]),
  ].join('\n');
}

function scopeOf(head: Verdict['head']): string {
  if (head === undefined) return 'the end of the log cannot be read';
  if (head.position === 0) return 'the log is empty';
  const { position, hash, time } = headMembers(head);
  return `the log up to position ${position} of ${time}, hash ${hash}`;
}

const placeOf = ({ position, message }: Failure): string =>
  position === undefined ? message : `at position ${position}: ${message}`;
