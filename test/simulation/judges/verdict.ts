import type { Verdict } from '../../../src/audit/verify.ts';
import { Violation } from './violation.ts';

/** The message of a question without an answer. */
const UNSURE = /^unknown, because an owner is being erased/;

/**
 * Judges a verdict on a store that nobody has tampered with: it is yes. `isErased`: an erasure may leave questions
 * open. Throws Violation.
 */
export function judgeVerdict({ answers }: Verdict, isErased: boolean): void {
  for (const { question, failure } of answers)
    if (failure !== undefined && !(isErased && UNSURE.test(failure.message)))
      throw new Violation('verify', `${question}: no: ${failure.message}`);
}
