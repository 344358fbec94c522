import type { Reason } from '../domain/errors.ts';
import type { LoggedEvent } from './event/event.ts';

/** One append, after its commands were answered or put back. */
export interface AppendedBatch {
  /** Those that are in the log now, in order; the first and the last say which positions the batch took. */
  readonly events: readonly LoggedEvent[];
  /** From the decision to the answer of the store, retries included. */
  readonly seconds: number;
  /** `conflict`: another instance was faster, and the rest is decided again. `unknown`: nobody knows of the rest. */
  readonly outcome: 'landed' | 'conflict' | 'unknown';
}

/** Hears of what the committer does. Called on its path, so an observer takes no time and throws nothing. */
export interface LogObserver {
  /** After each append, before its commands are answered. */
  appended(batch: AppendedBatch): void;
  /** For each command that is not applied, or maybe not. */
  refused(reason: Reason): void;
}

/**
 * What became of a command that was forwarded: it was applied or refused; the writer gave it back, since another instance had
 * appended, and it was sent again; or the link ended before it was answered, and this instance looked after it.
 */
export type ForwardOutcome = 'applied' | 'refused' | 'returned' | 'lost';

/** Hears of the commands between the instances. As fast as LogObserver. */
export interface ForwardObserver {
  /** For each command, with the time from its submission to its answer, 0 for what has none yet, and the reason of a refusal. */
  forwarded(outcome: ForwardOutcome, milliseconds: number, reason?: Reason): void;
  /** So many commands of another instance came. */
  taken(commands: number): void;
}

/** How the log stands, as this instance knows it. */
export interface LogStatus {
  /** Position of the last event. */
  readonly head: number;
  /** Position up to which the read model is folded. */
  readonly checkpoint: number;
  /** Commands that were taken and are not answered yet. */
  readonly pending: number;
  /** The events in memory, and roughly how many bytes they take. */
  readonly tail: { readonly events: number; readonly bytes: number };
  /** Milliseconds since 1970 of the last look at the log that succeeded; undefined before the first. */
  readonly syncedAt: number | undefined;
  /** Erasures that are not done, of all instances, and when the oldest was begun, in milliseconds since 1970. */
  readonly erasures: { readonly count: number; readonly since: number | undefined };
  /** What this instance is to the others: undefined where it knows of none. */
  readonly role: 'writer' | 'forwards' | 'alone' | undefined;
}
