import type { Reason } from '../domain/errors.ts';

/**
 * Of an append. `conflict`: another instance was faster, or the store refused an event after the first. `unknown`: the
 * rest may or may not be in the log.
 */
export type AppendOutcome = 'landed' | 'conflict' | 'unknown';

/** Observes the committer. It runs on the committer's path, so its methods must be fast and must not throw. */
export interface LogObserver {
  /**
   * Called after each append, before its commands are answered: with the number of events that are in the log now, and
   * the seconds from the decision to the store's answer, including retries.
   */
  appended(events: number, seconds: number, outcome: AppendOutcome): void;
  /** Called for each command that was not applied, or whose outcome is unknown. */
  refused(reason: Reason): void;
}

/**
 * The outcome of a forwarded command:
 * - applied or refused;
 * - returned: another instance had appended, so the writer gave the command back, and it was sent again;
 * - lost: the link ended before the answer, so this instance commits the command itself.
 */
export type ForwardOutcome = 'applied' | 'refused' | 'returned' | 'lost';

/** Observes the commands between instances. Its methods must be as fast as those of LogObserver. */
export interface ForwardObserver {
  /**
   * Called for each outcome. `seconds`: from submission to the writer's answer; undefined without one. `reason`: of a
   * refusal, also by this instance.
   */
  forwarded(outcome: ForwardOutcome, seconds?: number, reason?: Reason): void;
  /** Called with the number of commands that arrived from another instance. */
  taken(commands: number): void;
}

/** The state of the log as this instance knows it. */
export interface LogStatus {
  /** Position of the last event. */
  readonly head: number;
  /** Time of the last event, in milliseconds since 1970. */
  readonly time: number;
  /** Position up to which the read model is folded. */
  readonly checkpoint: number;
  /** Commands that were accepted and are not answered yet. */
  readonly pending: number;
  /** The events in memory, their approximate bytes, and the bytes at which commands are refused. */
  readonly tail: { readonly events: number; readonly bytes: number; readonly most: number };
  /** When the log was last read successfully, by the monotonic clock. Undefined before the first time. */
  readonly syncedAt: number | undefined;
  /** Unfinished erasures of all instances, and when the oldest was first seen here, by the monotonic clock. */
  readonly erasures: { readonly count: number; readonly since: number | undefined };
  /** The role of this instance among the others. Undefined if it has not joined any. */
  readonly role: 'writer' | 'forwards' | 'alone' | undefined;
}
