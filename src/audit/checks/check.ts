import type { PlantKey } from '../../domain/plant.ts';
import type { LoggedEvent } from '../../log/event/event.ts';
import type { Fault } from '../../log/store.ts';

/** The questions of every audit, in their order. Each has the answer yes or no. */
export const QUESTIONS = ['positions', 'chain', 'contents', 'read_model', 'decisions', 'storage', 'tree'] as const;

/** A question of an audit: also whether the log extends a checkpoint, and whether the topic has what it has. */
export type Question = (typeof QUESTIONS)[number] | 'checkpoint' | 'topic';

/** The first place where the answer to a question is no. */
export interface Failure extends Fault {
  /** The plant, if it concerns one. */
  readonly plant?: PlantKey;
  /** Whether the question was not asked, or has no reliable answer: nothing is known to be wrong. */
  readonly isUnknown?: true;
}

/** What a check has found. Undefined: nothing is wrong. */
export type Found = Failure | undefined | Promise<Failure | undefined>;

/**
 * One question, answered in a single pass over the log. Its first failure is its answer, and it is asked nothing more.
 * An error of what is stored that a method throws is a failure, too (`failureOf`).
 */
export interface Check {
  readonly question: Question;
  /** Takes the next events, in the order of the store. The pass waits for it, which bounds memory. */
  take(events: readonly LoggedEvent[]): Found;
  /** Checks what can be judged only after the last event. Rejects with the signal's reason soon after it aborts. */
  finish(signal?: AbortSignal): Found;
  /** Releases its resources. Called once, also after an error. */
  close?(): Promise<void>;
}
