import type { Reason } from '../domain/errors.ts';
import type { LoggedEvent } from './event.ts';

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
}
