import { ProofError } from '../../../src/tlog/proof.ts';

/** The outcome of a proof. All its texts are for people. */
export type Outcome<Value> = Verified<Value> | Refuted;

/** The proof holds. */
interface Verified<Value> {
  readonly verified: true;
  /** What is proved. */
  readonly value: Value;
  /** What was checked, a sentence each. */
  readonly checked: readonly string[];
  /** What was not checked, and what you would have to trust or do for it, a sentence each. */
  readonly unchecked: readonly string[];
}

/** The proof does not hold, or could not be made. */
interface Refuted {
  readonly verified: false;
  readonly reason: string;
  /** What was checked before. */
  readonly checked: readonly string[];
}

/** Why a proof does not hold. */
export class NotVerified extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'NotVerified';
  }
}

/** The findings of a proof so far. */
export interface Findings {
  readonly checked: string[];
  readonly unchecked: string[];
}

/** Does a part of a proof. An exception of it becomes NotVerified, with a reason that may quote its message. */
export function orNotVerified<Value>(work: () => Value, reason: (why: string) => string): Value {
  try {
    return work();
  } catch (error) {
    throw error instanceof NotVerified ? error : new NotVerified(reason((error as Error).message), error);
  }
}

/** The outcome of a proof. Any exception means that nothing is verified. */
export async function outcomeOf<Value>(proof: (findings: Findings) => Promise<Value>): Promise<Outcome<Value>> {
  const findings: Findings = { checked: [], unchecked: [] };
  try {
    return { verified: true, value: await proof(findings), ...findings };
  } catch (error) {
    return { verified: false, reason: reasonOf(error), checked: findings.checked };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof NotVerified) return error.message;
  if (error instanceof ProofError) return `${error.message[0]!.toUpperCase()}${error.message.slice(1)}.`;
  return `The check broke off: ${error instanceof Error ? error.message : error}.`;
}
